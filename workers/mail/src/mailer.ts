import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { createTransport, type SendMailOptions } from 'nodemailer';
import type { MailText } from './compose-sign-up-mail.ts';

export interface Mail extends MailText {
  /** Unique, and the same when the mail is sent again. */
  readonly id: string;
  readonly to: string;
}

export interface Mailer {
  /**
   * Hands the mail over for good.
   * @throws {AppError} MAIL_NOT_SENT when the server refuses this mail; other errors mean that it is away
   */
  send(mail: Mail): Promise<void>;
  close(): void;
}

export type MailerOptions = { readonly from: string } & (
  | { readonly kind: 'smtp'; readonly url: string; readonly deadlines?: Partial<SmtpDeadlines> }
  | { readonly kind: 'folder'; readonly folder: string }
);

type SmtpOptions = Extract<MailerOptions, { kind: 'smtp' }>;

export function createMailer(options: MailerOptions): Mailer {
  return options.kind === 'smtp' ? smtpMailer(options) : folderMailer(options);
}

/** All in ms. */
export interface SmtpDeadlines {
  readonly dnsTimeout: number;
  readonly connectionTimeout: number;
  /** From the connection to the server's first word. */
  readonly greetingTimeout: number;
  /** Longest silence after that. */
  readonly socketTimeout: number;
}

const SMTP_DEADLINES: SmtpDeadlines = {
  dnsTimeout: 10_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 30_000,
};

function smtpMailer({ url, from, deadlines }: SmtpOptions): Mailer {
  const transport = createTransport({ url, pool: true, ...SMTP_DEADLINES, ...deadlines });
  return {
    async send(mail) {
      try {
        await transport.sendMail(messageOf(mail, from));
      } catch (cause) {
        if (isRefusal(cause))
          throw new AppError('MAIL_NOT_SENT', 'The mail server refused the mail.', { cause });
        // By this code the queue knows that the job must wait rather than fail.
        throw Object.assign(new Error('The mail server is away.', { cause }), { code: 'ECONNECTION' });
      }
    },
    close: () => transport.close(),
  };
}

/** A 5xx answer to the recipient or to the mail itself. 4xx means later, and a bad login is the operator's to mend. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('responseCode' in error)) return false;
  const aboutTheMail = error.code === 'EENVELOPE' || error.code === 'EMESSAGE';
  return aboutTheMail && typeof error.responseCode === 'number' && error.responseCode >= 500;
}

/** Mails as files, for trying out. */
function folderMailer({ folder, from }: { folder: string; from: string }): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    async send(mail) {
      const { message } = await transport.sendMail(messageOf(mail, from));
      await mkdir(folder, { recursive: true });
      // The rename makes it appear whole; sent again it replaces itself.
      const unfinished = join(folder, `.${mail.id}.tmp`);
      const file = await open(unfinished, 'w', 0o600);
      try {
        await file.writeFile(message);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, join(folder, `${mail.id}.eml`));
    },
    close: () => transport.close(),
  };
}

function messageOf(mail: Mail, from: string): SendMailOptions {
  const host = /@([^\s@>]+)>?$/.exec(from)?.[1] ?? 'localhost';
  return {
    from,
    to: { name: '', address: mail.to },
    subject: mail.subject,
    messageId: `<${mail.id}@${host}>`,
    // No automatic answers, please (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
    alternatives: [part('text/plain', mail.text), part('text/html', mail.html)],
  };
}

/**
 * Written as it is. nodemailer would encode lines of more than 76 characters, and a token or a link in them could no
 * longer be copied from the file; 7bit allows 998 (RFC 5322).
 */
function part(type: string, content: string): { raw: string } {
  const head = `Content-Type: ${type}; charset=utf-8\nContent-Transfer-Encoding: 7bit\n\n`;
  return { raw: (head + content).replaceAll('\n', '\r\n') };
}
