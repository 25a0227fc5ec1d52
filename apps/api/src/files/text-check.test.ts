import { describe, expect, it } from 'vitest';
import { createTextCheck, isRefusedTextName } from './text-check.ts';

function isText(...chunks: (string | number[])[]): boolean {
  const check = createTextCheck();
  for (const chunk of chunks) if (!check.accepts(Buffer.from(chunk as string))) return false;
  return check.isComplete();
}

describe('text', () => {
  it.each([
    ['plain', 'Hello, world.\n'],
    ['with umlauts and emoji', 'Grüße 🦄'],
    ['with a BOM', '\ufeffid;name\n'],
    ['that is only white space', ' \n\t'],
    ['JSON', '{"a": "<html>"}'],
    ['that speaks of HTML later', 'the tag <script> is refused at the start only'],
    ['beginning with a word that only looks like a tag', '<bold'],
    ['beginning with <a in longer words', '<article>'],
  ])('%s is taken', (_what, text) => {
    expect(isText(text)).toBe(true);
    // Byte by byte: nothing depends on where a chunk ends.
    expect(isText(...[...Buffer.from(text)].map((byte) => [byte]))).toBe(true);
  });

  it.each([
    ['NUL', 'a\u0000b'],
    ['a script', '#!/bin/sh\n'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg">'],
    ['SVG in capitals', '<SVG>'],
    ['XML', '<?xml version="1.0"?>'],
    ['HTML', '<!DOCTYPE html><p>'],
    ['HTML after BOM and white space', `\ufeff \n${' '.repeat(2_000)}<HTML>`],
    ['a comment that begins HTML', '<!-- x --><script>'],
    ['a script tag', '<script >'],
    ['a link', '<a href="x">'],
  ])('%s is not', (_what, text) => {
    expect(isText(text)).toBe(false);
    expect(isText(...[...Buffer.from(text)].map((byte) => [byte]))).toBe(false);
  });

  it.each([
    ['a lone continuation byte', [0x61, 0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['half a surrogate pair', [0xed, 0xa0, 0x80]],
    ['Latin-1', [0x47, 0x72, 0xfc, 0xdf, 0x65]],
    ['UTF-16', [0xff, 0xfe, 0x61, 0x00]],
    ['a character that never ends', [0x61, 0xf0, 0x9f, 0xa6]],
  ])('%s is not UTF-8', (_what, bytes) => {
    expect(isText(bytes)).toBe(false);
    expect(isText(...bytes.map((byte) => [byte]))).toBe(false);
  });

  it('is refused by the name of a program or of markup', () => {
    for (const name of ['a.exe', 'a.HTML', 'a.txt.js', 'x.svg', 'run.sh'])
      expect(isRefusedTextName(name)).toBe(true);
    for (const name of ['a.txt', 'exe', 'a.json', null]) expect(isRefusedTextName(name)).toBe(false);
  });
});
