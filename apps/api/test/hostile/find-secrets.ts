import { randomBytes } from 'node:crypto';

/** Everything that nobody may find anywhere, by what it is. */
export type Secrets = Map<string, string>;

/** A text that is nowhere by chance. */
export const secret = (name: string) => `${name}-${randomBytes(20).toString('hex')}`;

/** The names of those that the text has. */
export function findSecrets(text: string, secrets: Secrets): string[] {
  return [...secrets].filter(([, value]) => text.includes(value)).map(([name]) => name);
}
