import type { IncomingHttpHeaders } from 'node:http';

/** What a stored representation is known by. */
export interface Validators {
  /** A strong entity tag, in quotes. */
  readonly etag: string;
  readonly lastModified?: Date | undefined;
}

/**
 * Whether a reader already has the representation (304), by RFC 9110, 13.2.2: If-Modified-Since counts only when
 * there is no If-None-Match. If-Match and If-Unmodified-Since guard against lost updates; there are none here.
 */
export function isNotModified(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return matchesAny(tags, etag);
  const since = parseHttpDate(headers['if-modified-since']);
  return since !== undefined && lastModified !== undefined && seconds(lastModified) <= seconds(since);
}

/** Whether a Range counts: there is no If-Range, or it names exactly this representation (RFC 9110, 13.1.5). */
export function isRangeWanted(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): boolean {
  const condition = headers['if-range'];
  if (condition === undefined) return true;
  // Node gives a repeated If-Range as one string; only a weak tag starts with W/, and never matches.
  const text = String(condition).trim();
  if (text.startsWith('"') || text.startsWith('W/')) return text === etag;
  const date = parseHttpDate(text);
  return date !== undefined && lastModified !== undefined && seconds(date) === seconds(lastModified);
}

/** Weak comparison with each tag of the list. */
function matchesAny(list: string, etag: string): boolean {
  if (list.trim() === '*') return true;
  const tags = list.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => tag.replace(/^W\//, '') === etag);
}

const IMF_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const OBSOLETE_DATE =
  /^(?:[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/** The three forms of RFC 9110, 5.6.7. Anything else is as good as absent. */
function parseHttpDate(text: string | undefined): Date | undefined {
  if (text === undefined || !(IMF_DATE.test(text) || OBSOLETE_DATE.test(text))) return undefined;
  const date = new Date(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}
