import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FIELD_CODES, QUERY_CODES, RAISED_CODES } from '../../apps/api/src/accounts/graphql-codes.ts';
import { OUTCOMES } from '../../apps/api/src/accounts/outcomes.ts';
import { STATUS_OF } from '../../apps/api/src/http/problem-details.ts';
import { VARIABLES, type Variable } from '../../shared/config/variables.ts';
import { ERROR_CODES } from '../../shared/errors/error-codes.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The lines from a heading to the next one of the same level. */
function section(heading: string): string {
  const from = readme.indexOf(`\n## ${heading}\n`);
  expect(from, `README has a section "${heading}"`).toBeGreaterThan(-1);
  const to = readme.indexOf('\n## ', from + 1);
  return readme.slice(from, to === -1 ? undefined : to);
}

function configurationRow(name: string, variable: Variable<unknown>): string {
  const code = (text: string | undefined) => (text === undefined || text === '' ? '—' : `\`${text}\``);
  const production =
    variable.productionFallback === undefined ? '' : `, in production \`${variable.productionFallback}\``;
  return `| \`${name}\` | ${variable.parser.allowed} | ${code(variable.fallback)}${production} | ${variable.about} |`;
}

/** Each code that a client of GraphQL can meet, and where. */
function graphqlCodes(): Map<string, string> {
  const inResponses = new Map<string, number>(FIELD_CODES.map((code) => [code, 400]));
  // What is wrong with an input is told by the codes of its fields.
  for (const [code, statusCode] of Object.entries(OUTCOMES))
    if (statusCode !== 'raised' && code !== 'INVALID_REQUEST') inResponses.set(code, statusCode);
  const inErrors = new Set<string>([...QUERY_CODES, ...RAISED_CODES]);
  return new Map(
    [...inResponses.keys(), ...inErrors].map((code) => [
      code,
      [
        ...(inResponses.has(code) ? [`\`errors\`, ${inResponses.get(code)}`] : []),
        ...(inErrors.has(code) ? ['GraphQL error'] : []),
      ].join('; '),
    ]),
  );
}

describe('the README', () => {
  it('opens with the two commands', () => {
    expect(readme.split('\n').slice(2, 6)).toEqual([
      '```sh',
      'npm ci && npm start',
      'npm ci && npm test',
      '```',
    ]);
  });

  it('has one row for each variable, in the order and the words of the code, and no other', () => {
    const rows = section('Configuration')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    expect(rows).toEqual(
      Object.entries(VARIABLES).map(([name, variable]) => configurationRow(name, variable)),
    );
  });

  it('lists every code of GraphQL once, with where it is', () => {
    const listed = section('GraphQL API')
      .split('\n')
      .flatMap((line) => {
        const [, code, where] = /^\| `([A-Z_]+)` \| (.+?) \| ./.exec(line) ?? [];
        return code === undefined ? [] : [[code, where]];
      });
    const expected = graphqlCodes();
    expect(listed).toHaveLength(expected.size);
    expect(new Map(listed.map(([code, where]) => [code!, where!]))).toEqual(expected);
  });

  it('lists every error code once, with its status', () => {
    const listed = section('Error codes')
      .split('\n')
      .flatMap((line) => {
        const [, code, status] = /^\| `([A-Z_]+)` \| (\d+) \| ./.exec(line) ?? [];
        return code === undefined ? [] : [[code, Number(status)]];
      });
    expect(listed).toHaveLength(ERROR_CODES.length);
    expect(Object.fromEntries(listed)).toEqual(STATUS_OF);
  });
});
