import { expect, it } from 'vitest';
import { type AnnouncementFacts, announcement } from './announcement.ts';

const facts: AnnouncementFacts = {
  host: '127.0.0.1',
  port: 3000,
  opsHost: '127.0.0.1',
  opsPort: 9400,
  admin: { email: 'admin@localhost', password: 'made', passwordFile: '/data/admin-password' },
  dataFolder: '/data',
  terminal: true,
};

it('begins with the line that programs wait for, and names the dashboard', () => {
  const lines = announcement(facts).split('\n');
  expect(lines[0]).toBe('Stowage is ready at http://127.0.0.1:3000');
  expect(lines).toContain('  queue dashboard  http://127.0.0.1:9400/queues');
});

it('shows the password it made in a terminal, and elsewhere only where it is', () => {
  expect(announcement(facts)).toContain('admin@localhost, password made');
  const logged = announcement({ ...facts, terminal: false });
  expect(logged).toContain('admin@localhost, password in /data/admin-password');
  expect(logged).not.toContain('made');
});

it('does not show a password that was given', () => {
  const text = announcement({ ...facts, admin: { email: 'root@example.com' } });
  expect(text).toContain('root@example.com, password as in ADMIN_PASSWORD');
});
