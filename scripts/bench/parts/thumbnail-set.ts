import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PictureFormat } from '@stowage/shared/images/picture-format.ts';
import { alternate } from '../alternate.ts';
import type { Line, Target } from '../line.ts';
import type { Part } from '../part.ts';
import { createRenderSets, WIDTHS } from '../rig/render-sets.ts';

interface Case {
  readonly name: string;
  readonly bytes: Buffer;
  readonly stored: PictureFormat;
  readonly target?: Target;
}

const ROUNDS = 3;

/** All variants of one picture: our one decode against one pipeline per variant, and against ipx. */
export const thumbnailSet: Part = {
  name: 'thumbnail-set',
  about: 'CPU of all variants of a picture, against one pipeline per variant',
  async run({ folder, pictures }) {
    const cases: Case[] = [
      { name: '12 MP JPEG', bytes: await pictures.large('jpeg'), stored: 'jpeg', target: { atMost: 1 / 3 } },
      {
        name: '12 MP progressive JPEG',
        bytes: await pictures.large('progressive'),
        stored: 'jpeg',
        target: { atMost: 1 / 5 },
      },
      { name: '1.5 MP PNG', bytes: await pictures.large('png'), stored: 'png', target: { atMost: 1 / 1.8 } },
    ];
    for (const [name, bytes] of await pictures.real()) cases.push({ name, bytes, stored: 'jpeg' });

    const sets = createRenderSets();
    const lines: Line[] = [];
    try {
      for (const { name, bytes, stored, target } of cases) {
        const path = join(folder, `set.${stored}`);
        await writeFile(path, bytes);
        const cpuOf = (way: 'stowage' | 'pipelines' | 'shared-decode' | 'ipx') => async () =>
          (await sets.render({ way, path, widths: WIDTHS, formats: [stored, 'webp'], times: 1 })).cpuMs;
        const cpu = await alternate(ROUNDS, {
          ours: cpuOf('stowage'),
          pipelines: cpuOf('pipelines'),
          decodes: cpuOf('shared-decode'),
          // Of a PNG it makes a palette, a hundred times slower: that would compare something else.
          ipx: stored === 'jpeg' ? cpuOf('ipx') : async () => Number.NaN,
        });
        const line = { unit: 'ms CPU', ours: cpu.ours };
        const what = `full set of a ${name}`;
        lines.push(
          {
            ...line,
            what,
            counterpart: { name: 'pipelines', value: cpu.pipelines },
            ...(target && { target }),
          },
          { ...line, what, counterpart: { name: 'one decode per width', value: cpu.decodes } },
        );
        if (cpu.ipx !== undefined)
          lines.push({ ...line, what, counterpart: { name: 'ipx', value: cpu.ipx } });
      }
    } finally {
      sets.close();
    }
    return lines;
  },
};
