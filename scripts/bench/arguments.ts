import { parseArgs } from 'node:util';
import type { Part } from './part.ts';

export type Asked =
  | {
      readonly kind: 'run';
      readonly parts: readonly Part[];
      readonly images: string | undefined;
      readonly output: string;
    }
  | { readonly kind: 'show'; readonly text: string; readonly code: number };

/** What the command line asks for: parts by their names (all when none is named), or an explanation. */
export function parseArguments(args: readonly string[], parts: readonly Part[]): Asked {
  const usage = [
    'npm run bench [-- [part …] [--images FOLDER] [--output FILE]]',
    '',
    ...parts.map(({ name, about }) => `  ${name.padEnd(18)}${about}`),
  ].join('\n');
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        images: { type: 'string' },
        output: { type: 'string', default: 'bench-results.json' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) return { kind: 'show', text: usage, code: 0 };
    const unknown = positionals.find((name) => !parts.some((part) => part.name === name));
    if (unknown !== undefined) throw new Error(`There is no part ${unknown}.`);
    const chosen = parts.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return { kind: 'run', parts: chosen, images: values.images, output: values.output };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'show', text: `${message}\n\n${usage}`, code: 2 };
  }
}
