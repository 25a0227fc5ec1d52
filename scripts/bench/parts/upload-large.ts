import { fork } from 'node:child_process';
import { join } from 'node:path';
import { alternate } from '../alternate.ts';
import type { Part } from '../part.ts';
import { load } from '../rig/load.ts';
import { oneMessage } from '../rig/one-message.ts';
import { uploadBody } from '../rig/upload-body.ts';

const PROGRAM = join(import.meta.dirname, '../programs/sdk-upload-program.ts');
const ROUNDS = 3;
const SIZE = 100 * 2 ** 20;

/** One upload of 100 MB, all the way through the API, against the SDK's upload of the same bytes from memory. */
export const uploadLarge: Part = {
  name: 'upload-large',
  about: 'throughput of an upload of 100 MB to S3, against the bare SDK',
  async run(rig) {
    const { s3 } = rig;
    if (s3 === undefined) return [];
    return await rig.withStowage({ redis: true, s3: true }, async (stowage) => {
      const { contentType, body } = uploadBody(
        Buffer.alloc(SIZE, 'a line of text that is stored\n'),
        'lines.txt',
      );
      const sdk = fork(PROGRAM, [
        ...[s3.endpoint, s3.accessKeyId, s3.secretAccessKey],
        ...[stowage.env.S3_BUCKET ?? '', String(SIZE)],
      ]);
      await oneMessage(sdk);
      try {
        const times = await alternate(ROUNDS, {
          async ours() {
            const { latenciesMs } = await load({
              url: `${stowage.url}/`,
              method: 'POST',
              connections: 1,
              amount: 1,
              headers: { ...stowage.client.user.headers, 'content-type': contentType },
              body,
            });
            return latenciesMs[0] ?? Number.NaN;
          },
          async sdk() {
            sdk.send('again');
            return Number(await oneMessage(sdk));
          },
        });
        const rate = (ms: number) => SIZE / 2 ** 20 / (ms / 1_000);
        return [
          {
            what: 'upload of 100 MB to S3',
            unit: 'MB/s',
            ours: rate(times.ours),
            counterpart: { name: 'SDK', value: rate(times.sdk) },
            target: { atLeast: 0.85 },
          },
        ];
      } finally {
        sdk.disconnect();
        sdk.kill();
      }
    });
  },
};
