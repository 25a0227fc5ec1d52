import { describe, expect, it } from 'vitest';
import { composeKnownAddressMail, composeVerifyMail } from './compose-sign-up-mail.ts';

const token = `${'a'.repeat(22)}.${'b'.repeat(22)}`;
const graphqlUrl = 'https://files.example.org/graphql';

describe('composeVerifyMail', () => {
  it('shows the token and the mutation in both forms', () => {
    const { text, html } = composeVerifyMail({ token, graphqlUrl });
    expect(text).toContain(`\ntoken=${token}\n`);
    for (const form of [text, html]) {
      expect(form).toContain(token);
      expect(form).toContain('verifySignupToken');
      expect(form).toContain(graphqlUrl);
    }
    expect(html).not.toContain('<a ');
  });

  it('links to the page of the site, whose own query stays as it is', () => {
    const link = (verifyUrl: string) => composeVerifyMail({ token, graphqlUrl, verifyUrl });
    expect(link('https://app.example.org/verify').text).toContain(
      `https://app.example.org/verify?token=${token}`,
    );
    expect(link('https://app.example.org/?a=%20b&c').html).toContain(
      `href="https://app.example.org/?a=%20b&amp;c&amp;token=${token}"`,
    );
    expect(link('https://app.example.org/#/verify').text).toContain(`/?token=${token}#/verify`);
  });
});

describe('all mails', () => {
  it('are ASCII with lines that mail servers take', () => {
    const verifyUrl = 'https://app.example.org/vérifie';
    for (const mail of [composeKnownAddressMail(), composeVerifyMail({ token, graphqlUrl, verifyUrl })])
      for (const line of [mail.subject, ...mail.text.split('\n'), ...mail.html.split('\n')])
        expect(line).toMatch(/^[\x20-\x7e]{0,900}$/);
  });
});
