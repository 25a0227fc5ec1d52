import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { alternate } from '../alternate.ts';
import type { Line } from '../line.ts';
import type { Part } from '../part.ts';
import { load } from '../rig/load.ts';
import { startNginx } from '../rig/nginx.ts';
import { cpuMs } from '../rig/processes.ts';
import type { Rig } from '../rig/rig.ts';
import { uploadBody } from '../rig/upload-body.ts';

const ROUNDS = 3;
const SECONDS = 3;
const CONNECTIONS = 32;

/** A thumbnail from memory, again and again, against nginx with one worker process and the same bytes as a file. */
export const cachedRead: Part = {
  name: 'cached-read',
  about: 'cached reads per second, against nginx',
  async run(rig) {
    if (rig.nginx === undefined) return [];
    const command = rig.nginx;
    return await rig.withStowage({}, async (stowage) => {
      const picture = await rig.pictures.tiny();
      const name = await stowage.client.upload(uploadBody(picture, 'picture.jpg'));
      const path = `/${name.replace('.', '_400.')}`;
      const bytes = new Uint8Array(await (await fetch(`${stowage.url}${path}`)).arrayBuffer());
      const nginx = await serveFile(rig, command, bytes);
      try {
        const cpu = { ours: 0, nginx: 0 };
        const read = async (whose: 'ours' | 'nginx', url: string, pid: number) => {
          const before = await cpuMs([pid]);
          const { perSecond, statuses, seconds } = await load({
            url,
            connections: CONNECTIONS,
            seconds: SECONDS,
          });
          cpu[whose] = (((await cpuMs([pid])) - before) * 1_000) / (perSecond * seconds);
          if (Object.keys(statuses).join() !== '200') throw new Error(`answers: ${JSON.stringify(statuses)}`);
          return perSecond;
        };
        const rates = await alternate(ROUNDS, {
          ours: () => read('ours', `${stowage.url}${path}`, stowage.apiPid),
          nginx: () => read('nginx', nginx.url, nginx.pid),
        });
        const what = `cached read of ${Math.round(bytes.length / 1_000)} KB`;
        const lines: Line[] = [
          {
            what,
            unit: 'per s',
            ours: rates.ours,
            counterpart: { name: 'nginx', value: rates.nginx },
            target: { atLeast: 0.75 },
          },
          { what, unit: 'µs CPU', ours: cpu.ours, counterpart: { name: 'nginx', value: cpu.nginx } },
        ];
        return lines;
      } finally {
        await nginx.stop();
      }
    });
  },
};

async function serveFile(rig: Rig, command: string, bytes: Uint8Array) {
  const folder = join(rig.folder, 'nginx');
  await mkdir(join(folder, 'root'), { recursive: true });
  await writeFile(join(folder, 'root', 'picture.jpg'), bytes);
  const nginx = await startNginx(command, folder);
  return { ...nginx, url: `${nginx.url}/picture.jpg` };
}
