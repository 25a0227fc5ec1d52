import { AppError } from '@stowage/shared/errors/app-error.ts';
import { type TSchema, Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { validatorCompiler } from './validation.ts';

const body = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    bytes: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    mode: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
    inner: Type.Optional(Type.Object({ list: Type.Array(Type.Integer()) }, { additionalProperties: false })),
  },
  { additionalProperties: false },
);

function validate(schema: TSchema, value: unknown, httpPart = 'body'): unknown {
  const result: unknown = validatorCompiler({ schema, httpPart, method: 'POST', url: '/' })(value);
  return result;
}

function fault(json: string): unknown {
  const result = validate(body, JSON.parse(json));
  const error = (result as { error?: unknown }).error;
  if (!(error instanceof AppError)) throw new Error(`accepted: ${json}`);
  expect(error.code).toBe('INVALID_REQUEST');
  expect(error.message).toBe(`${error.details.field} ${error.details.rule}.`);
  return error.details;
}

describe('the validator compiler', () => {
  it('hands a valid value through, the same object', () => {
    const value = { name: 'n', bytes: 9007199254740991 };
    expect((validate(body, value) as { value: unknown }).value).toBe(value);
  });

  it.each([
    ['{"name":"n","bytes":"5"}', 'bytes', 'must be integer'],
    ['{"name":"n","bytes":1.5}', 'bytes', 'must be integer'],
    ['{"name":"n","bytes":true}', 'bytes', 'must be integer'],
    ['{"name":"n","bytes":null}', 'bytes', 'must be integer'],
    ['{"name":"n","bytes":-1}', 'bytes', 'must be >= 0'],
    ['{"name":"n","bytes":1152921504606846976}', 'bytes', 'must be <= 9007199254740991'],
    ['{"name":7,"bytes":1}', 'name', 'must be string'],
    ['{"name":"n"}', 'bytes', 'is required'],
    ['{}', 'name', 'is required'],
    ['{"name":"n","bytes":1,"extra":1}', 'extra', 'is not known here'],
    ['{"name":"n","bytes":1,"__proto__":{"x":1}}', '__proto__', 'is not known here'],
    ['{"name":"n","bytes":1,"constructor":1}', 'constructor', 'is not known here'],
    ['{"name":"n","bytes":1,"a/b~c":1}', 'a/b~c', 'is not known here'],
    ['{"name":"n","bytes":1,"mode":"c"}', 'mode', 'has no allowed value'],
    ['{"name":"n","bytes":1,"inner":{"list":[1,"2"]}}', 'inner.list.1', 'must be integer'],
    ['{"name":"n","bytes":1,"inner":{"list":[],"x":1}}', 'inner.x', 'is not known here'],
    ['[]', 'body', 'must be object'],
    ['null', 'body', 'must be object'],
    ['3', 'body', 'must be object'],
  ])('names the field and the rule of %s', (json, field, rule) => {
    expect(fault(json)).toEqual({ field, rule });
  });

  it('does not convert query parameters', () => {
    const query = Type.Object({ limit: Type.Integer() });
    const result = validate(query, { limit: '5' }, 'querystring') as { error: AppError };
    expect(result.error.details).toEqual({ field: 'limit', rule: 'must be integer' });
  });

  it('cuts a very long field name', () => {
    const result = validate(body, { name: 'n', bytes: 1, ['x'.repeat(10_000)]: 1 }) as { error: AppError };
    expect(result.error.details.field).toBe('x'.repeat(64));
  });
});
