import { describe, expect, it } from 'vitest';
import { normaliseEmail } from './email-address.ts';

describe('normaliseEmail', () => {
  it.each([
    ['Ada@Example.ORG', 'ada@example.org'],
    ['  ada@example.org ', 'ada@example.org'],
    ['admin@localhost', 'admin@localhost'],
    ["o'brien+files@mail.example.co.uk", "o'brien+files@mail.example.co.uk"],
    ['ada@Bücher.example', 'ada@xn--bcher-kva.example'],
  ])('keeps %s as %s', (text, expected) => {
    expect(normaliseEmail(text)).toBe(expected);
  });

  it.each([
    '',
    '@',
    'ada',
    'ada@',
    '@example.org',
    'a b@example.org',
    'ada@exa mple.org',
    '.ada@example.org',
    'ada..lovelace@example.org',
    'ada@-example.org',
    'ada@example..org',
    'ada@[127.0.0.1]',
    '"ada"@example.org',
    'ada@example.org, eve@example.org',
    'ada@example.org\r\nBcc: eve@example.org',
    'ada\u0000@example.org',
    'ada@example.org/x',
    'ada@example.org\\x',
    'ada@example.org?x',
    'ada@example.org#x',
    'ada@ex%61mple.org',
    'ada@exam\tple.org',
    'ada@exam\r\nple.org',
    'ada@example.org:25',
    'ada@127.0.0.1',
    'ada@0x7f.1',
    `${'a'.repeat(65)}@example.org`,
    `ada@${'a.'.repeat(130)}org`,
  ])('refuses %j', (text) => {
    expect(normaliseEmail(text)).toBeUndefined();
  });
});
