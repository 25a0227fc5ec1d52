/** A mail without its addresses. ASCII only, and nothing in it comes from whoever signed up: it is no way to send spam. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface VerifyMail {
  readonly token: string;
  /** Where GraphQL is served. */
  readonly graphqlUrl: string;
  /** The page that redeems the token, if there is one. */
  readonly verifyUrl?: string | undefined;
}

/** The mail that lets the owner of an address verify a sign-up. */
export function composeVerifyMail({ token, graphqlUrl, verifyUrl }: VerifyMail): MailText {
  const mutation = `mutation { verifySignupToken(params: { token: "${token}" }) { statusCode message } }`;
  const link = verifyUrl === undefined ? undefined : withToken(verifyUrl, token);
  const intro = 'Somebody, hopefully you, signed up at Stowage with this address.';
  const ignore = 'If it was not you, ignore this mail.';
  const how = `The token is good for 24 hours and once. To redeem it, send this to ${graphqlUrl}:`;
  return {
    subject: 'Verify your address',
    text: [
      intro,
      ...(link === undefined ? [] : [`Open this page to verify it:\n\n${link}`]),
      `Your token:\n\ntoken=${token}`,
      `${how}\n\n${mutation}`,
      `${ignore}\n`,
    ].join('\n\n'),
    html: page([
      `<p>${escapeHtml(intro)}</p>`,
      ...(link === undefined ? [] : [`<p><a href="${escapeHtml(link)}">Verify this address</a></p>`]),
      `<p>Your token:</p>\n<pre>${escapeHtml(token)}</pre>`,
      `<p>${escapeHtml(how)}</p>\n<pre>${escapeHtml(mutation)}</pre>`,
      `<p>${escapeHtml(ignore)}</p>`,
    ]),
  };
}

/** The mail to somebody who signed up again, or whose address somebody else tried. */
export function composeKnownAddressMail(): MailText {
  const lines = [
    'Somebody, hopefully you, tried to sign up at Stowage with this address. It has an account already.',
    'If it was you, log in with the password that you have. If it was not, there is nothing to do.',
  ];
  return {
    subject: 'You have an account already',
    text: `${lines.join('\n\n')}\n`,
    html: page(lines.map((line) => `<p>${escapeHtml(line)}</p>`)),
  };
}

function withToken(verifyUrl: string, token: string): string {
  const url = new URL(verifyUrl);
  // Not by searchParams, which would write the rest of the query anew.
  url.search = `${url.search === '' ? '?' : `${url.search}&`}token=${token}`;
  return url.href;
}

function page(body: readonly string[]): string {
  return ['<!doctype html>', '<html lang="en">', '<body>', ...body, '</body>', '</html>', ''].join('\n');
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
