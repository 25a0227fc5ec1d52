import { setTimeout as sleep } from 'node:timers/promises';
import type { Line } from '../line.ts';
import type { Part } from '../part.ts';
import { load } from '../rig/load.ts';
import { memoryMb, peakMemoryMb } from '../rig/processes.ts';
import { allRendered, uploadPictures } from '../rig/renders.ts';
import type { Rig } from '../rig/rig.ts';
import { uploadBody } from '../rig/upload-body.ts';

const LARGE = 500 * 2 ** 20;

/** What processes need at most. Memory that processes share counts once. */
export const memory: Part = {
  name: 'memory',
  about: 'peak memory of the API during large uploads, and of the thumbnails worker',
  async run(rig) {
    return [
      ...(await ofUploads(rig)),
      await ofWorker(rig, 'jpeg', 'baseline JPEG', 256),
      await ofWorker(rig, 'progressive', 'progressive JPEG', 448),
    ];
  },
};

async function ofUploads(rig: Rig): Promise<Line[]> {
  return await rig.withStowage({ redis: true, s3: true }, async (stowage) => {
    const { contentType, body } = uploadBody(
      Buffer.alloc(LARGE, 'a line of text that is stored\n'),
      'lines.txt',
    );
    const headers = { ...stowage.client.user.headers, 'content-type': contentType };
    const url = `${stowage.url}/`;
    const send = (times: number) => async () => {
      const { statuses } = await load({
        url,
        method: 'POST',
        connections: times,
        amount: times,
        headers,
        body,
      });
      if (statuses[200] !== times) throw new Error(`answers: ${JSON.stringify(statuses)}`);
    };
    // What the process needs once it has worked at all.
    await stowage.client.upload(uploadBody(await rig.pictures.tiny(), 'picture.jpg'));
    await sleep(500);
    const idle = await memoryMb([stowage.apiPid]);
    const one = await peakMemoryMb([stowage.apiPid], send(1));
    const ten = await peakMemoryMb([stowage.apiPid], send(10));
    const what = `API above its idle ${Math.round(idle)} MB`;
    return [
      { what: `${what}, upload of 500 MB`, unit: 'MB', ours: one - idle, target: { atMost: 96 } },
      {
        what: `${what}, ten uploads of 500 MB at once`,
        unit: 'MB',
        ours: ten - idle,
        target: { atMost: 400 },
      },
    ];
  });
}

async function ofWorker(rig: Rig, kind: 'jpeg' | 'progressive', name: string, atMost: number): Promise<Line> {
  return await rig.withStowage({}, async (stowage) => {
    const thumbnails = await stowage.startWorker('thumbnails', { env: { THUMBNAILS_CONCURRENCY: '4' } });
    const bytes = await rig.pictures.large(kind);
    const peak = await peakMemoryMb([thumbnails.pid], async () => {
      await uploadPictures(stowage, bytes, 12);
      await allRendered(stowage);
    });
    return {
      what: `thumbnails worker, four 12 MP pictures at once, ${name}`,
      unit: 'MB',
      ours: peak,
      target: { atMost },
    };
  });
}
