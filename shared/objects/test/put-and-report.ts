import { openFilesystemStore } from '../filesystem/filesystem-store.ts';

// A process of its own, so that a test can limit what it may write. Puts as many bytes as it is told, and prints the code.
const [folder, bytes] = process.argv.slice(2);
const store = openFilesystemStore({ folder: folder! });
const outcome = await store
  .put('a/b/object', new Uint8Array(Number(bytes)), { contentType: 'image/jpeg' })
  .catch((error: unknown) => (error as { code?: string }).code);
process.stdout.write(String(outcome));
