import { createServer } from 'node:net';

export interface FakeSmtpServer {
  readonly url: string;
  /** What was delivered, header and body. */
  readonly mails: string[];
  /** The answer to the next recipients. */
  answer: string;
  close(): Promise<void>;
}

/** As much of an SMTP server (RFC 5321) as it takes to receive mails and to refuse them. */
export async function openFakeSmtpServer(): Promise<FakeSmtpServer> {
  const mails: string[] = [];
  const fake = { answer: '250 ok' };
  const server = createServer((socket) => {
    let data: string | undefined;
    let pending = '';
    const reply = (line: string) => socket.write(`${line}\r\n`);
    reply('220 fake');
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      pending += chunk.toString();
      for (let end = pending.indexOf('\r\n'); end >= 0; end = pending.indexOf('\r\n')) {
        const line = pending.slice(0, end);
        pending = pending.slice(end + 2);
        if (data !== undefined && line !== '.') data += `${line}\r\n`;
        else if (data !== undefined) {
          mails.push(data);
          data = undefined;
          reply('250 queued');
        } else if (line === 'DATA') {
          data = '';
          reply('354 go on');
        } else reply(line.startsWith('RCPT') ? fake.answer : '250 ok');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    mails,
    get answer() {
      return fake.answer;
    },
    set answer(line) {
      fake.answer = line;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
