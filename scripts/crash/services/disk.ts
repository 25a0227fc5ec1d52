import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';

/** The disk of the S3 server. */
export interface Disk {
  readonly folder: string;
  /** Whether it can really be filled; if not, the S3 proxy refuses writes as a full disk makes the server do. */
  readonly canBeFull: boolean;
  /** Leaves so many bytes free. */
  fill(leaveBytes: number): void;
  empty(): void;
  close(): void;
}

/** Room for all that the users of the suite may store, twice over. */
const SIZE = '1g';
const TRIES = 5;

/** As root a small file system in memory, mounted for this run; else an ordinary folder. */
export function openDisk(folder: string): Disk {
  const mount = join(folder, 'objects');
  mkdirSync(mount);
  const mounted = tryToMount(mount);
  const objects = join(mount, 'bucket-root');
  mkdirSync(objects);
  const filler = join(mount, 'filler');
  const empty = () => rmSync(filler, { force: true });
  return {
    folder: objects,
    canBeFull: mounted,
    fill(leaveBytes) {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { bavail, bsize } = statfsSync(mount);
        const bytes = bavail * bsize - leaveBytes;
        if (bytes <= 0) return;
        try {
          execFileSync('fallocate', ['-l', String(bytes), filler], { stdio: 'ignore' });
          return;
        } catch {
          // The S3 server was faster in taking the last of it.
        }
      }
    },
    empty,
    close() {
      empty();
      if (mounted) execFileSync('umount', ['--lazy', mount]);
    },
  };
}

function tryToMount(folder: string): boolean {
  // The S3 server needs extended attributes, which such a file system has from Linux 6.6 on.
  const [major = 0, minor = 0] = release().split('.').map(Number.parseFloat);
  if (process.getuid?.() !== 0 || major < 6 || (major === 6 && minor < 6)) return false;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=755`, 'stowage-crash', folder], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}
