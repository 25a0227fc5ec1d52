import { domainToASCII } from 'node:url';

const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** `domainToASCII` reads a host as browsers do: it ends it here, leaves white space out, and makes numbers an address. */
const HOST_SYNTAX = /[\s/\\?#%:@[\]]/;
const IP_ADDRESS = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * An e-mail address in the one form in which it is kept and compared: lower case, the domain in ASCII. Undefined for
 * what is not an address (RFC 5321 without quoted local parts and address literals).
 */
export function normaliseEmail(text: string): string | undefined {
  const trimmed = text.trim();
  const at = trimmed.lastIndexOf('@');
  const local = trimmed.slice(0, at).toLowerCase();
  const host = trimmed.slice(at + 1);
  const domain = HOST_SYNTAX.test(host) ? '' : domainToASCII(host).toLowerCase();
  if (IP_ADDRESS.test(domain)) return undefined;
  if (at < 1 || local.length > 64 || local.length + domain.length > 253) return undefined;
  return LOCAL_PART.test(local) && DOMAIN.test(domain) ? `${local}@${domain}` : undefined;
}
