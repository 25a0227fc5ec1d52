/** Longest name that is kept, in bytes of UTF-8. */
const MAX_BYTES = 255;

/**
 * The client's file name as it is kept and shown: its last path segment, without control characters and characters
 * that turn the direction of writing, nor dots and spaces at its end, at most 255 bytes. Null when nothing is left.
 */
export function cleanOriginalName(name: string | undefined): string | null {
  const last = (name ?? '').toWellFormed().split(/[/\\]/).at(-1) ?? '';
  const visible = last
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .trimStart();
  // Where it is cut may be in the middle of dots.
  const cut = withoutDroppedEnd(cutToBytes(withoutDroppedEnd(visible), MAX_BYTES));
  return cut === '' ? null : cut;
}

/**
 * Without the dots and spaces that Windows drops when it saves a file: `a.exe.` becomes a program. Not by a regular
 * expression, which would look at a long row of dots once for each of them.
 */
function withoutDroppedEnd(name: string): string {
  let end = name.length;
  while (end > 0 && /[.\s]/.test(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
}

/** Cuts between characters, and keeps a short extension. */
function cutToBytes(name: string, most: number): string {
  if (Buffer.byteLength(name) <= most) return name;
  const extension = /\.[A-Za-z0-9]{1,16}$/.exec(name)?.[0] ?? '';
  let room = most - Buffer.byteLength(extension);
  let kept = '';
  for (const character of name.slice(0, name.length - extension.length)) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    kept += character;
  }
  return kept + extension;
}
