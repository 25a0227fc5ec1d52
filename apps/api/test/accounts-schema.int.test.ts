import { readFileSync } from 'node:fs';
import { buildClientSchema, getIntrospectionQuery, parse, print, visit } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountsClient, type AccountsFixture, openAccounts } from './accounts-fixture.ts';

let accounts: AccountsFixture;
let client: AccountsClient;

beforeAll(async () => {
  accounts = await openAccounts();
  client = await accounts.start();
});
afterAll(() => accounts?.close());

describe('the served schema', () => {
  it('has every type, field and operation of the contract', async () => {
    const response = await client.post(getIntrospectionQuery());
    const schema = buildClientSchema(response.json().data);
    const typeOf = (name: string, field: string) => {
      const type = schema.getType(name);
      if (type === undefined || !('getFields' in type)) return `no type ${name}`;
      return String(type.getFields()[field]?.type);
    };

    for (const [type, field, expected] of CONTRACT.types)
      expect(`${type}.${field}: ${typeOf(type, field)}`).toBe(`${type}.${field}: ${expected}`);
    for (const [root, name, argument, expected] of CONTRACT.operations) {
      const field = schema.getType(root);
      const operation = field && 'getFields' in field ? field.getFields()[name] : undefined;
      expect(`${name}: ${String(operation?.type)}`).toBe(`${name}: ${expected}`);
      const args = operation && 'args' in operation ? operation.args : [];
      expect(args.map((arg) => `${arg.name}: ${String(arg.type)}`)).toEqual(
        argument === 'none' ? [] : [argument],
      );
    }
    expect(schema.getMutationType()?.getFields().basicAuthLogin).toBeUndefined();
    expect(Object.keys(schema.getTypeMap()).filter((name) => /basicAuthLogin/i.test(name))).toEqual([]);
  });

  it('has the types that the contract leaves open as they were decided', () => {
    const document = parse(readFileSync(new URL('../src/accounts/schema.graphql', import.meta.url), 'utf8'));
    const bare = visit(document, {
      enter: (node) => ('description' in node ? { ...node, description: undefined } : undefined),
    });
    const shown = bare.definitions
      .filter((definition) => 'name' in definition && DECIDED.includes(definition.name?.value ?? ''))
      .map((definition) => print(definition).replace(/\s+/g, ' '));
    expect(shown).toEqual([
      'type User { id: ID! email: String! username: String! firstName: String lastName: String image: String role: Role! signUpMethod: SignUpMethod! emailVerified: Boolean! createdAt: String! }',
      'enum Role { USER ADMIN }',
      'enum SignUpMethod { BASIC }',
      'type Error { field: String code: String! message: String! }',
      'input VerifySignupTokenInput { token: String! }',
    ]);
  });
});

const DECIDED = ['User', 'Role', 'SignUpMethod', 'Error', 'VerifySignupTokenInput'];

/** The tables of the GraphQL contract, row by row. */
const CONTRACT = {
  types: [
    ['Response', 'message', 'String!'],
    ['Response', 'errors', '[Error!]'],
    ['Response', 'statusCode', 'Int!'],
    ['LoginResponse', 'message', 'String!'],
    ['LoginResponse', 'errors', '[Error!]'],
    ['LoginResponse', 'statusCode', 'Int!'],
    ['LoginResponse', 'refreshToken', 'String'],
    ['LoginResponse', 'accessToken', 'String'],
    ['LoginResponse', 'user', 'User'],
    ['BasicAuthSignupResponse', 'message', 'String!'],
    ['BasicAuthSignupResponse', 'errors', '[Error!]'],
    ['BasicAuthSignupResponse', 'statusCode', 'Int!'],
    ['BasicAuthSignupResponse', 'user', 'User'],
    ['LoginInput', 'email', 'String!'],
    ['LoginInput', 'password', 'String!'],
    ['BasicAuthSignupInput', 'firstName', 'String'],
    ['BasicAuthSignupInput', 'lastName', 'String'],
    ['BasicAuthSignupInput', 'image', 'String'],
  ],
  operations: [
    ['Mutation', 'verifySignupToken', 'params: VerifySignupTokenInput!', 'Response!'],
    ['Mutation', 'basicAuthSignUp', 'params: BasicAuthSignupInput!', 'BasicAuthSignupResponse!'],
    ['Mutation', 'login', 'params: LoginInput!', 'LoginResponse!'],
    ['Query', 'users', 'none', '[User!]!'],
    ['Query', 'updateToken', 'none', 'LoginResponse'],
  ],
} as const;
