import type { Ports } from './ports.ts';

export interface ChildrenSettings {
  readonly env: NodeJS.ProcessEnv;
  readonly dataFolder: string;
  readonly databaseUrl: string;
  readonly secretKey: string;
  readonly admin: { readonly email: string; readonly password: string } | undefined;
  readonly ports: Ports;
}

/** Seconds that requests and jobs may go on after SIGTERM; with the database's own stop all ends within 15. */
const CHILD_GRACE_SECONDS = 10;

/** The environment of the API. */
export function apiEnvironment(settings: ChildrenSettings): NodeJS.ProcessEnv {
  const admin =
    settings.admin === undefined
      ? {}
      : { ADMIN_EMAIL: settings.admin.email, ADMIN_PASSWORD: settings.admin.password };
  return { ...common(settings, 0), ...admin };
}

/** The environment of the worker at place `index` of all processes. Workers know nothing of the administrator. */
export function workerEnvironment(settings: ChildrenSettings, index: number): NodeJS.ProcessEnv {
  const env = common(settings, index);
  delete env.ADMIN_EMAIL;
  delete env.ADMIN_PASSWORD;
  // glibc keeps an arena per thread; two of them halve the peak memory of decoding pictures.
  return { MALLOC_ARENA_MAX: '2', ...env };
}

function common(settings: ChildrenSettings, index: number): NodeJS.ProcessEnv {
  const asked = Number(settings.env.SHUTDOWN_GRACE_SECONDS || CHILD_GRACE_SECONDS);
  return {
    // Files, DNS, bcrypt and signatures share libuv's threads: with the default four, logins slow down reads.
    UV_THREADPOOL_SIZE: '16',
    ...settings.env,
    DATA_DIR: settings.dataFolder,
    DATABASE_URL: settings.databaseUrl,
    SECRET_KEY: settings.secretKey,
    PORT: String(settings.ports.port),
    OPS_PORT: String(settings.ports.opsPorts[index] ?? 0),
    SHUTDOWN_GRACE_SECONDS: String(Math.min(asked, CHILD_GRACE_SECONDS)),
  };
}
