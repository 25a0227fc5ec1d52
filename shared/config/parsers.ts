/** Turns the text of a variable into its value, or throws an Error whose message says what is allowed. */
export interface Parser<T> {
  readonly allowed: string;
  parse(text: string): T;
}

function parser<T>(allowed: string, parse: (text: string) => T | undefined): Parser<T> {
  return {
    allowed,
    parse(text) {
      const value = parse(text);
      if (value === undefined) throw new Error(`must be ${allowed}`);
      return value;
    },
  };
}

export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Parser<number> {
  const allowed =
    max === Number.MAX_SAFE_INTEGER
      ? `a whole number of at least ${min}`
      : `a whole number from ${min} to ${max}`;
  return parser(allowed, (text) => {
    if (!/^\d+$/.test(text)) return undefined;
    const value = Number(text);
    return Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined;
  });
}

export function choice<const T extends string>(...values: readonly T[]): Parser<T> {
  return parser(`one of ${values.join(', ')}`, (text) => values.find((value) => value === text));
}

export function flag(): Parser<boolean> {
  return parser('true or false', (text) => (text === 'true' ? true : text === 'false' ? false : undefined));
}

export function onOff(): Parser<boolean> {
  return parser('on or off', (text) => (text === 'on' ? true : text === 'off' ? false : undefined));
}

export function text(minLength = 1): Parser<string> {
  const allowed = minLength > 1 ? `text of at least ${minLength} characters` : 'text';
  return parser(allowed, (value) => (value.length >= minLength ? value : undefined));
}

export function email(): Parser<string> {
  return parser('an e-mail address', (value) => (/^[^\s@]+@[^\s@]+$/.test(value) ? value : undefined));
}

/** An address like `Stowage <stowage@example.org>` or a bare one. */
export function mailbox(): Parser<string> {
  return parser('an e-mail address, or a name with the address in < >', (value) =>
    /^(?:[^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>|[^\s@<>]+@[^\s@<>]+)$/.test(value) ? value : undefined,
  );
}

export function url(...protocols: readonly string[]): Parser<string> {
  return parser(`a URL that begins with ${protocols.map((p) => `${p}://`).join(' or ')}`, (value) => {
    if (!URL.canParse(value)) return undefined;
    return protocols.includes(new URL(value).protocol.slice(0, -1)) ? value : undefined;
  });
}

/** A URL without its trailing slash, so that paths can be put behind it. */
export function baseUrl(...protocols: readonly string[]): Parser<string> {
  const { allowed, parse } = url(...protocols);
  return { allowed, parse: (value) => parse(value).replace(/\/+$/, '') };
}

export function list<T>(of: Parser<T>): Parser<readonly T[]> {
  return {
    allowed: `a comma-separated list, each ${of.allowed}`,
    parse(value) {
      const items = value.split(',').map((item) => item.trim());
      return [...new Set(items.filter((item) => item !== '').map((item) => of.parse(item)))];
    },
  };
}

export function origin(): Parser<string> {
  return parser('an origin such as https://app.example.org', (value) =>
    URL.canParse(value) && /^https?:/.test(value) && new URL(value).origin === value.replace(/\/$/, '')
      ? new URL(value).origin
      : undefined,
  );
}

export function mimeType(): Parser<string> {
  return parser('a MIME type such as image/jpeg', (value) =>
    /^[a-z]+\/[a-z0-9][a-z0-9.+-]*$/.test(value) ? value : undefined,
  );
}

/** How many proxies, or which, are believed about a client's address. `false` believes none. */
export function proxyTrust(): Parser<false | number | readonly string[]> {
  return parser(
    'false, a number of proxies, or a comma-separated list of addresses and CIDR ranges',
    (value) => {
      if (value === 'false') return false;
      if (/^\d{1,2}$/.test(value)) return Number(value);
      const addresses = value.split(',').map((item) => item.trim());
      const named = ['loopback', 'linklocal', 'uniquelocal'];
      const valid = addresses.every(
        (item) => named.includes(item) || /^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(item),
      );
      return valid ? addresses : undefined;
    },
  );
}
