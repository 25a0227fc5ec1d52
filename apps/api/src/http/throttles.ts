import { createHash } from 'node:crypto';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { throttledAddress } from './client-ip.ts';
import type { ThrottlesStore } from './throttles-store.ts';

/** All per client address. Each throws `RATE_LIMITED` with `details.retry_after_seconds`. */
export interface Throttles {
  /** Whether this address may try a password of this account now. */
  checkLogin(ip: string, account: string): Promise<void>;
  failedLogin(ip: string, account: string): Promise<void>;
  /** Forgets the failures at this account. */
  successfulLogin(ip: string, account: string): Promise<void>;
  countSignUp(ip: string): Promise<void>;
  countRefresh(ip: string, sessionId: string): Promise<void>;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const LIMITS = {
  failuresPerAccount: { points: 5, duration: 15 * MINUTE },
  failures: { points: 100, duration: HOUR },
  signUps: { points: 500, duration: HOUR },
  signUpsInProduction: { points: 10, duration: HOUR },
  refreshes: { points: 30, duration: MINUTE },
} as const;

/** Each time an account is closed to an address again it stays closed twice as long: 15, 30, then 60 minutes. */
const BACK_OFF = { first: 15 * MINUTE, longest: HOUR, remembered: 24 * HOUR } as const;

export interface ThrottlesDeps {
  readonly store: ThrottlesStore;
  readonly production: boolean;
}

export function createThrottles({ store, production }: ThrottlesDeps): Throttles {
  const failuresPerAccount = store.limiter('login-account', LIMITS.failuresPerAccount);
  const failures = store.limiter('login', LIMITS.failures);
  const closings = store.limiter('login-closings', { points: 1, duration: BACK_OFF.remembered });
  const signUps = store.limiter('sign-up', production ? LIMITS.signUpsInProduction : LIMITS.signUps);
  const refreshes = store.limiter('refresh', LIMITS.refreshes);

  const consume = async (limiter: typeof signUps, key: string) => {
    try {
      await limiter.consume(key);
    } catch (refusal) {
      throw refusal instanceof RateLimiterRes ? rateLimited(refusal.msBeforeNext) : refusal;
    }
  };

  return {
    async checkLogin(ip, account) {
      const address = throttledAddress(ip);
      const counts = [
        { limiter: failuresPerAccount, count: await failuresPerAccount.get(throttleKey(address, account)) },
        { limiter: failures, count: await failures.get(throttleKey(address)) },
      ];
      const waits = counts
        .filter(({ limiter, count }) => count !== null && count.consumedPoints >= limiter.points)
        .map(({ count }) => count?.msBeforeNext ?? 0);
      if (waits.length > 0) throw rateLimited(Math.max(...waits));
    },
    async failedLogin(ip, account) {
      const address = throttledAddress(ip);
      const key = throttleKey(address, account);
      const [atAccount] = await Promise.all([
        failuresPerAccount.penalty(key),
        failures.penalty(throttleKey(address)),
      ]);
      // Exactly: failures beyond were under way already, and do not close it a second time.
      if (atAccount.consumedPoints !== LIMITS.failuresPerAccount.points) return;
      const { consumedPoints: times } = await closings.penalty(key);
      await failuresPerAccount.block(key, Math.min(BACK_OFF.first * 2 ** (times - 1), BACK_OFF.longest));
    },
    async successfulLogin(ip, account) {
      const key = throttleKey(throttledAddress(ip), account);
      await Promise.all([failuresPerAccount.delete(key), closings.delete(key)]);
    },
    countSignUp: (ip) => consume(signUps, throttleKey(throttledAddress(ip))),
    countRefresh: (ip, sessionId) => consume(refreshes, throttleKey(throttledAddress(ip), sessionId)),
  };
}

/** For RATE_LIMITS=off. */
export const NO_THROTTLES: Throttles = {
  checkLogin: async () => undefined,
  failedLogin: async () => undefined,
  successfulLogin: async () => undefined,
  countSignUp: async () => undefined,
  countRefresh: async () => undefined,
};

/** The key of a count. Hashed: of one length whatever a client sends, and the store does not hold addresses. */
export function throttleKey(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url');
}

function rateLimited(waitMs: number): AppError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new AppError('RATE_LIMITED', `Too many attempts. Try again in ${seconds} s.`, {
    details: { retry_after_seconds: seconds },
  });
}
