import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '@stowage/shared/config/variables.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const composeText = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const compose: ComposeFile = parse(composeText, { merge: true });
const example = new Map(
  readFileSync(join(root, '.env.example'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => [line.split('=')[0]!, line.slice(line.indexOf('=') + 1)]),
);

interface Service {
  image?: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  ports?: string[];
  volumes?: string[];
  deploy?: { replicas: string };
}

interface ComposeFile {
  services: Record<string, Service>;
  volumes: Record<string, null>;
}

const WORKERS = ['thumbnails', 'quota-accounting', 'cleanup', 'mail'];
const OWN = ['api', ...WORKERS];
const PARTS = ['postgres', 'redis', 'seaweedfs', 'mailpit'];
const SECRETS = [
  'POSTGRES_PASSWORD',
  'SECRET_KEY',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'ADMIN_EMAIL',
  'ADMIN_PASSWORD',
];
/** Not of Stowage's own configuration: read by the C library. */
const RUNTIME_VARIABLES = ['MALLOC_ARENA_MAX', 'UV_THREADPOOL_SIZE'];

/** `${NAME}`, `${NAME:-default}` and `${NAME:?message}` as compose interpolates them. */
function references(): { name: string; kind: string; text: string }[] {
  const found = [...composeText.matchAll(/(?<!\$)\$\{(\w+)(?:(:-|:\?)([^}]*))?\}/g)];
  return found.map(([, name, kind, text]) => ({ name: name!, kind: kind ?? '', text: text ?? '' }));
}

describe('docker-compose.yml', () => {
  it('has the API, each worker, the migrations and the parts they need, and nothing else', () => {
    expect(Object.keys(compose.services).toSorted()).toEqual([...OWN, ...PARTS, 'migrate'].toSorted());
  });

  it('uses only keys of a service that the compose specification knows', () => {
    const known = [
      'build',
      'command',
      'depends_on',
      'deploy',
      'environment',
      'healthcheck',
      'image',
      'init',
      'ports',
      'restart',
      'stop_grace_period',
      'volumes',
    ];
    for (const service of Object.values(compose.services))
      expect(known).toEqual(expect.arrayContaining(Object.keys(service)));
  });

  it.each([...OWN, ...PARTS])('checks the health of %s', (name) => {
    expect(compose.services[name]!.healthcheck!.test[0]).toBe('CMD');
  });

  it.each(OWN)('starts %s after the migrations and after every part is healthy', (name) => {
    expect(compose.services[name]!.depends_on).toEqual({
      migrate: { condition: 'service_completed_successfully' },
      ...Object.fromEntries(PARTS.map((part) => [part, { condition: 'service_healthy' }])),
    });
  });

  it('runs all of its own services from one image, each with the entry file of its process', () => {
    const images = ['migrate', ...OWN].map((name) => compose.services[name]!.image);
    expect(new Set(images)).toEqual(new Set(['stowage:1']));
    expect(compose.services.migrate!.build).toBe('.');
    for (const name of ['migrate', ...OWN]) {
      const [program, file] = compose.services[name]!.command!;
      expect(program).toBe('node');
      expect(file).toBe(
        name === 'migrate'
          ? 'scripts/migrate.ts'
          : name === 'api'
            ? 'apps/api/src/main.ts'
            : `workers/${name}/src/main.ts`,
      );
    }
  });

  it.each(WORKERS)('lets the number of %s processes be set', (name) => {
    const variable = `${name.replaceAll('-', '_').toUpperCase()}_REPLICAS`;
    expect(compose.services[name]!.deploy!.replicas).toBe(`\${${variable}:-1}`);
  });

  it('gives its processes only variables that they know', () => {
    for (const name of ['migrate', ...OWN]) {
      const unknown = Object.keys(compose.services[name]!.environment!).filter(
        (variable) => !(variable in VARIABLES) && !RUNTIME_VARIABLES.includes(variable),
      );
      expect(unknown, name).toEqual([]);
    }
  });

  it('has no default for a secret', () => {
    const secrets = Object.entries(VARIABLES)
      .filter(([, variable]) => 'secret' in variable)
      .map(([name]) => name);
    for (const { name, kind } of references()) {
      const isSecret = SECRETS.includes(name) || (secrets.includes(name) && name !== 'SMTP_URL');
      expect(kind, name).toBe(isSecret ? ':?' : ':-');
    }
    expect(composeText).not.toMatch(/(password|secret)[^\n]*: ["']?[a-z0-9]{8,}["']?$/im);
  });

  it('names all that can be set in .env.example, the secrets empty', () => {
    expect([...new Set(references().map(({ name }) => name))].toSorted()).toEqual(
      [...example.keys()].toSorted(),
    );
    for (const secret of SECRETS) expect(example.get(secret)).toBe('');
  });

  it('keeps the queue in memory and on disk', () => {
    const command = compose.services.redis!.command!.join(' ');
    expect(command).toContain('--maxmemory-policy noeviction');
    expect(command).toContain('--appendonly yes');
    expect(compose.services.postgres!.image).toBe('postgres:18');
    expect(compose.services.redis!.image).toBe('redis:8');
  });

  it('is reachable from this machine only, and keeps its data in volumes', () => {
    for (const { ports = [] } of Object.values(compose.services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(compose.services.mailpit!.ports).toEqual(['127.0.0.1:8025:8025']);
    const used = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(':')[0]),
    );
    expect(used.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  });
});

describe('the Dockerfile', () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');

  it('runs Node 24 as an ordinary user, without development dependencies', () => {
    const [, runtime] = dockerfile.split(/^FROM /m).slice(1);
    expect(runtime).toMatch(/^node:24-/);
    expect(runtime).toMatch(/^USER node$/m);
    expect(dockerfile).toContain('npm ci --omit=dev');
  });

  it('copies the manifest of every workspace before it installs', () => {
    for (const workspace of ['apps/api', 'shared', ...WORKERS.map((worker) => `workers/${worker}`)]) {
      expect(dockerfile).toContain(`COPY ${workspace}/package.json ${workspace}/`);
    }
  });
});
