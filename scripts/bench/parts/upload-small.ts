import { join } from 'node:path';
import { alternate } from '../alternate.ts';
import type { Line } from '../line.ts';
import type { Part } from '../part.ts';
import type { BenchUser } from '../rig/client.ts';
import { load } from '../rig/load.ts';
import { cpuMs } from '../rig/processes.ts';
import { answers, freePort, startProgram } from '../rig/started-program.ts';
import { uploadBody } from '../rig/upload-body.ts';

const PROGRAM = join(import.meta.dirname, '../programs/bare-upload-program.ts');
const ROUNDS = 3;
const SECONDS = 3;
const CONNECTIONS = 32;

/** Uploads of 100 KB, 32 at once, against a server that only puts them into the same S3 server. */
export const uploadSmall: Part = {
  name: 'upload-small',
  about: 'uploads of 100 KB per second, against bare Fastify, multipart and PutObject',
  async run(rig) {
    const { s3 } = rig;
    if (s3 === undefined) return [];
    return await rig.withStowage({ redis: true, s3: true }, async (stowage) => {
      const { contentType, body } = uploadBody(await pictureOf100Kb(rig.pictures), 'picture.jpg');
      const users: BenchUser[] = [];
      for (let count = 0; count < CONNECTIONS; count += 1) users.push(await stowage.client.newUser());
      const port = await freePort();
      const bare = await startProgram({
        command: process.execPath,
        args: [
          PROGRAM,
          s3.endpoint,
          s3.accessKeyId,
          s3.secretAccessKey,
          stowage.env.S3_BUCKET ?? '',
          String(port),
        ],
        logFile: join(rig.folder, 'bare-upload.log'),
        isReady: () => answers(`http://127.0.0.1:${port}/ready`),
      });
      const cpu = { ours: 0, bare: 0 };
      const send = async (url: string, whose: 'ours' | 'bare', pid: number, by: readonly BenchUser[]) => {
        const before = await cpuMs([pid]);
        const { perSecond, statuses, seconds } = await load({
          url: `${url}/`,
          method: 'POST',
          connections: CONNECTIONS,
          seconds: SECONDS,
          headers: { 'content-type': contentType },
          headersByConnection: by.map((user) => user.headers),
          body,
        });
        if (Object.keys(statuses).join() !== '200') throw new Error(`answers: ${JSON.stringify(statuses)}`);
        cpu[whose] = (((await cpuMs([pid])) - before) * 1_000) / (perSecond * seconds);
        return perSecond;
      };
      try {
        const rates = await alternate(ROUNDS, {
          one: () => send(stowage.url, 'ours', stowage.apiPid, [stowage.client.user]),
          bare: () => send(`http://127.0.0.1:${port}`, 'bare', bare.pid, []),
          many: () => send(stowage.url, 'ours', stowage.apiPid, users),
        });
        const counterpart = { name: 'bare server', value: rates.bare };
        const lines: Line[] = [
          {
            what: 'uploads of 100 KB, one user',
            unit: 'per s',
            ours: rates.one,
            counterpart,
            target: { atLeast: 0.6 },
          },
          { what: 'uploads of 100 KB, 32 users', unit: 'per s', ours: rates.many, counterpart },
          {
            what: 'upload of 100 KB, API process',
            unit: 'µs CPU',
            ours: cpu.ours,
            counterpart: { name: 'bare server', value: cpu.bare },
          },
        ];
        return lines;
      } finally {
        await bare.stop();
      }
    });
  },
};

/** A JPEG may be followed by anything. */
async function pictureOf100Kb(pictures: { tiny(): Promise<Buffer> }): Promise<Buffer> {
  const picture = await pictures.tiny();
  return Buffer.concat([picture, Buffer.alloc(Math.max(0, 100_000 - picture.length))]);
}
