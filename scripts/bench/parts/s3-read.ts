import { join } from 'node:path';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { alternate } from '../alternate.ts';
import type { Part } from '../part.ts';
import { load } from '../rig/load.ts';
import type { S3Server } from '../rig/optional-services.ts';
import { cpuMs } from '../rig/processes.ts';
import { answers, freePort, startProgram } from '../rig/started-program.ts';
import { uploadBody } from '../rig/upload-body.ts';

const PROGRAM = join(import.meta.dirname, '../programs/s3-proxy-program.ts');
const ROUNDS = 3;
const REQUESTS = 1_500;

/** A read that is not in memory, through S3, against Fastify with plain undici to the same server. */
export const s3Read: Part = {
  name: 's3-read',
  about: 'CPU of a read through S3, against Fastify with plain undici',
  async run(rig) {
    const { s3 } = rig;
    if (s3 === undefined) return [];
    return await rig.withStowage({ s3: true, env: { READ_CACHE_BYTES: '0' } }, async (stowage) => {
      const picture = await rig.pictures.tiny();
      const name = await stowage.client.upload(uploadBody(picture, 'picture.jpg'));
      const { object_key } = await stowage.db
        .selectFrom('files')
        .select('object_key')
        .executeTakeFirstOrThrow();
      const path = `/${stowage.env.S3_BUCKET}/${object_key}`;
      // Signed once: the counterpart does not pay for signatures. They are good for some minutes.
      const headers = await signedHeaders(s3, path);
      const port = await freePort();
      const proxy = await startProgram({
        command: process.execPath,
        args: [PROGRAM, s3.endpoint, path, JSON.stringify(headers), String(port)],
        logFile: join(rig.folder, 'proxy.log'),
        isReady: () => answers(`http://127.0.0.1:${port}/ready`),
      });
      try {
        const cpuOf = (url: string, pid: number) => async () => {
          const before = await cpuMs([pid]);
          const { statuses } = await load({ url, connections: 16, amount: REQUESTS });
          if (statuses[200] !== REQUESTS) throw new Error(`answers: ${JSON.stringify(statuses)}`);
          return (((await cpuMs([pid])) - before) * 1_000) / REQUESTS;
        };
        const cpu = await alternate(ROUNDS, {
          ours: cpuOf(`${stowage.url}/${name}`, stowage.apiPid),
          undici: cpuOf(`http://127.0.0.1:${port}/picture`, proxy.pid),
        });
        return [
          {
            what: `read of ${Math.round(picture.length / 1_000)} KB through S3`,
            unit: 'µs CPU',
            ours: cpu.ours,
            counterpart: { name: 'Fastify and undici', value: cpu.undici },
            target: { atMost: 1.5 },
          },
        ];
      } finally {
        await proxy.stop();
      }
    });
  },
};

async function signedHeaders(s3: S3Server, path: string): Promise<Record<string, string>> {
  const { hostname, port, host } = new URL(s3.endpoint);
  const signer = new SignatureV4({
    service: 's3',
    region: 'us-east-1',
    sha256: Sha256,
    credentials: s3,
    uriEscapePath: false,
  });
  const request = {
    method: 'GET',
    protocol: 'http:',
    hostname,
    port: Number(port),
    path,
    headers: { host, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' },
  };
  return (await signer.sign(request)).headers;
}
