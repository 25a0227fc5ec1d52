import { describe, expect, it } from 'vitest';
import { makePicture } from '../../scripts/testing/pictures.ts';
import { DEFAULT_ALLOWED_TYPES, detectType, textTypeOf } from './detect-type.ts';

const detect = (bytes: string | number[] | Buffer) => detectType(Buffer.from(bytes as string, 'latin1'));

describe('the type of a file', () => {
  it.each([
    ['jpeg', 'image/jpeg', 'jpg'],
    ['png', 'image/png', 'png'],
    ['webp', 'image/webp', 'webp'],
    ['gif', 'image/gif', 'gif'],
    ['avif', 'image/avif', 'avif'],
    ['tiff', 'image/tiff', 'tiff'],
  ] as const)('of a %s picture is %s', async (format, contentType, extension) => {
    const bytes = await makePicture({ width: 32, height: 32, format });
    expect(await detectType(bytes)).toEqual({ contentType, extension });
    expect(DEFAULT_ALLOWED_TYPES).toContain(contentType);
  });

  it.each([
    ['%PDF-1.7\n', 'application/pdf', 'pdf'],
    ['\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic', 'image/heic', 'heic'],
    ['\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic', 'image/heic', 'heic'],
    ['\x00\x00\x00\x18ftypM4V \x00\x00\x00\x00M4V mp42', 'video/mp4', 'mp4'],
    ['\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00M4A mp42', 'audio/mp4', 'm4a'],
    ['\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00qt  ', 'video/quicktime', 'mov'],
    ['fLaC\x00\x00\x00\x22', 'audio/flac', 'flac'],
    ['ID3\x04\x00\x00\x00\x10\x00\x00\x41', 'audio/mpeg', 'mp3'],
    ['PK\x05\x06'.padEnd(22, '\x00'), 'application/zip', 'zip'],
  ])('of %j is %s', async (bytes, contentType, extension) => {
    expect(await detect(bytes)).toEqual({ contentType, extension });
    expect(DEFAULT_ALLOWED_TYPES).toContain(contentType);
  });

  it.each([
    ['a TIFF whose directory is at its end', 'II*\0\xff\xff\xff\x00', 'image/tiff'],
    ['a big-endian one', 'MM\0*\x00\xff\xff\xff', 'image/tiff'],
    [
      'a PNG with a long colour profile',
      `${'\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR'.padEnd(33, '\0')}\x00\x10\x00\x00iCCP`,
      'image/png',
    ],
    ['an MP3 with a long title picture', 'ID3\x04\x00\x00\x01\x10\x00\x41', 'audio/mpeg'],
  ])('of %s is told by its first bytes', async (_what, start, contentType) => {
    expect(await detect(start.padEnd(65_536, 'x'))).toMatchObject({ contentType });
  });

  it.each([
    ['an ELF program', '\x7fELF\x02\x01\x01'],
    ['a Windows program', 'MZ\x90\x00\x03'],
    ['a Mach-O program', '\xcf\xfa\xed\xfe'],
    ['WebAssembly', '\x00asm\x01\x00\x00\x00'],
    ['a Java class', '\xca\xfe\xba\xbe\x00\x00\x00\x34'],
    ['an archive', '7z\xbc\xaf\x27\x1c'],
    ['XML', '<?xml version="1.0"?>'],
    ['RTF', '{\\rtf1'],
  ])('of %s is known and not accepted', async (_what, bytes) => {
    const detected = await detect(bytes);
    expect(detected).toBeDefined();
    expect(DEFAULT_ALLOWED_TYPES).not.toContain(detected?.contentType);
  });

  it.each(['BM is how it begins', 'solid as a rock', 'BEGIN:VCALENDAR\r\n', 'WEBVTT\n', 'plain'])(
    'of %j is for the text check to say',
    async (bytes) => {
      expect(await detect(bytes)).toBeUndefined();
    },
  );

  it('of text follows its name', () => {
    expect(textTypeOf('a.CSV')).toEqual({ contentType: 'text/csv', extension: 'csv' });
    expect(textTypeOf('a.json')).toEqual({ contentType: 'application/json', extension: 'json' });
    expect(textTypeOf('a.tar.md')).toEqual({ contentType: 'text/markdown', extension: 'md' });
    for (const name of ['a.log', 'a', null]) expect(textTypeOf(name).extension).toBe('txt');
  });
});
