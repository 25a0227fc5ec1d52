import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { S3Proxy } from '../../../scripts/crash/proxies/s3-proxy.ts';
import { Random } from '../../../scripts/crash/random.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import type { ObjectStore } from '../object-store.ts';
import { ensureBucket } from '../s3/ensure-bucket.ts';
import type { S3StoreOptions } from '../s3/s3-options.ts';
import { openS3Store } from '../s3/s3-store.ts';
import { leftovers } from './leftovers.ts';
import { openTcpProxy, type TcpProxy } from './tcp-proxy.ts';

const MIB = 1024 * 1024;
const jpeg = { contentType: 'image/jpeg' };
const noReason = new AbortController().signal;
const unavailable = { code: 'OBJECT_STORE_UNAVAILABLE' };
const writeFailed = { code: 'OBJECT_STORE_WRITE_FAILED' };
const s3 = objectStores().flatMap(({ options }) => (options.kind === 's3' ? [options] : []))[0];

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function open(options: S3StoreOptions): ObjectStore {
  const store = openS3Store(options);
  closers.push(() => store.close());
  return store;
}

async function listed(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

async function* endless(onBytes: (bytes: number) => void = () => undefined): AsyncGenerator<Uint8Array> {
  const chunk = randomBytes(65_536);
  for (;;) {
    await setImmediate();
    onBytes(chunk.length);
    yield chunk;
  }
}

describe.skipIf(s3 === undefined)('the S3 adapter on a real server', () => {
  const options = s3!; // the suite is skipped without
  const freshKey = (): string => `s3/${randomUUID()}/object`;

  async function throughProxy(
    more: Partial<S3StoreOptions> = {},
  ): Promise<{ proxy: TcpProxy; store: ObjectStore }> {
    const proxy = await openTcpProxy(options.endpoint);
    closers.push(() => proxy.close());
    return { proxy, store: open({ ...options, endpoint: proxy.url, ...more }) };
  }

  it('makes a missing bucket, once', async () => {
    const fresh = { ...options, bucket: `made-${randomUUID()}` };
    await expect(open(fresh).check(noReason)).rejects.toMatchObject(unavailable);
    await Promise.all([ensureBucket(fresh), ensureBucket(fresh)]);
    await ensureBucket(fresh);
    await open(fresh).check(noReason);
  });

  it('does not take a missing bucket for a missing object', async () => {
    const store = open({ ...options, bucket: `missing-${randomUUID()}` });
    const key = freshKey();
    await expect(store.get(key)).rejects.toMatchObject(unavailable);
    await expect(store.head(key)).rejects.toMatchObject(unavailable);
    await expect(listed(store, 's3/')).rejects.toMatchObject(unavailable);
    await expect(store.dropUnfinished('s3/')).rejects.toMatchObject(unavailable);
    await expect(store.put(key, randomBytes(10), jpeg)).rejects.toMatchObject(writeFailed);
    await expect(store.delete([key])).rejects.toMatchObject(writeFailed);
  });

  it('fails in each way it should with a wrong secret', async () => {
    const key = freshKey();
    await open(options).put(key, randomBytes(10), jpeg);
    const store = open({ ...options, secretAccessKey: 'wrong' });
    await expect(store.get(key)).rejects.toMatchObject(unavailable);
    await expect(store.head(key)).rejects.toMatchObject(unavailable);
    await expect(store.check(noReason)).rejects.toMatchObject(unavailable);
    await expect(listed(store, 's3/')).rejects.toMatchObject(unavailable);
    await expect(store.put(key, randomBytes(10), jpeg)).rejects.toMatchObject(writeFailed);
    await expect(store.put(key, endless(), jpeg)).rejects.toMatchObject(writeFailed);
    await expect(store.delete([key])).rejects.toMatchObject(writeFailed);
    await expect(ensureBucket({ ...options, secretAccessKey: 'wrong' })).rejects.toMatchObject(unavailable);
  });

  it('reads and writes on after all connections broke', async () => {
    const { proxy, store } = await throughProxy();
    const key = freshKey();
    const bytes = randomBytes(100_000);
    await store.put(key, bytes, jpeg);
    for (let round = 0; round < 5; round += 1) {
      proxy.cut();
      expect(bytes.equals(await buffer((await store.get(key)).stream))).toBe(true);
      proxy.cut();
      await store.put(key, bytes, jpeg);
    }
  });

  it('leaves no second upload behind when the answer to the start of the first was lost', async () => {
    let failed = 0;
    const proxy = await S3Proxy.open({
      target: () => Number(new URL(options.endpoint).port),
      random: new Random('lost start'),
      onFault: () => {
        failed += 1;
        proxy.setRules([]);
      },
    });
    closers.push(() => proxy.close());
    proxy.setRules([{ fault: 'done-500', operations: ['create-multipart'], probability: 1 }]);
    const key = freshKey();
    const store = open({ ...options, endpoint: `http://127.0.0.1:${proxy.port}` });
    expect(await store.put(key, endlessUntil(20 * MIB), jpeg)).toBe(20 * MIB);
    expect(failed).toBe(1);
    expect(await leftovers(options, key)).toEqual([]);
  });

  it('ends a read that breaks in the middle with an error of its own', async () => {
    const { proxy, store } = await throughProxy();
    const key = freshKey();
    await store.put(key, endlessUntil(20 * MIB), jpeg);
    const { stream } = await store.get(key);
    const reading = buffer(stream);
    stream.once('data', () => proxy.cut());
    await expect(reading).rejects.toMatchObject(unavailable);
  });

  it('gives up a write on a server that stalls in the middle, holding two parts at most', async () => {
    const { proxy, store } = await throughProxy({ deadlines: { stallMs: 700, controlMs: 700 } });
    const key = freshKey();
    let pulled = 0;
    const put = store.put(
      key,
      endless((bytes) => {
        pulled += bytes;
        if (pulled === 10 * MIB) proxy.stall();
      }),
      jpeg,
    );
    await expect(put).rejects.toMatchObject(writeFailed);
    // What was sent before, two parts, what the connections hold, and the chunk that waits.
    expect(pulled).toBeLessThan(10 * MIB + 16 * MIB + 8 * MIB);
    // The server could not be told; the sweep does it later.
    proxy.resume();
    await open(options).dropUnfinished(`${key.slice(0, -'object'.length)}`);
    expect(await leftovers(options, key)).toEqual([]);
  });

  it('keeps all writes together within their memory while the server stalls', async () => {
    const { proxy, store } = await throughProxy({
      uploadBufferBytes: 20 * MIB,
      deadlines: { stallMs: 700, controlMs: 700 },
    });
    await store.put(freshKey(), randomBytes(10), jpeg);
    proxy.stall();
    const abort = new AbortController();
    let pulled = 0;
    const body = (): AsyncGenerator<Uint8Array> =>
      endless((bytes) => {
        pulled += bytes;
      });
    const puts = Array.from({ length: 10 }, () =>
      store.put(freshKey(), body(), { ...jpeg, signal: abort.signal }).catch((error: unknown) => error),
    );
    expect(await Promise.race(puts)).toMatchObject(writeFailed);
    // All memory, and the chunk that each write holds while it waits for some.
    expect(pulled).toBeLessThanOrEqual(20 * MIB + 10 * 65_536);
    const reason = new Error('over');
    abort.abort(reason);
    expect(await Promise.all(puts)).toContain(reason);
  });

  it('brings many big writes to their end through little memory', async () => {
    const store = open({ ...options, uploadBufferBytes: 8 * MIB });
    const keys = Array.from({ length: 8 }, freshKey);
    await Promise.all(
      keys.map(async (key, index) => {
        const size = 9 * MIB + index * 1_000_001;
        expect(await store.put(key, endlessUntil(size), jpeg)).toBe(size);
        expect(await store.head(key)).toBe(size);
      }),
    );
  });
});

async function* endlessUntil(size: number): AsyncGenerator<Uint8Array> {
  const chunk = randomBytes(65_536);
  for (let left = size; left > 0; left -= chunk.length) yield chunk.subarray(0, left);
}

describe('the S3 adapter on a server in trouble', () => {
  async function answering(
    listener: RequestListener,
    deadlines?: S3StoreOptions['deadlines'],
  ): Promise<ObjectStore> {
    const started = createServer(listener);
    await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
    closers.push(async () => {
      started.closeAllConnections();
      await new Promise((resolve) => started.close(resolve));
    });
    return open({
      endpoint: `http://127.0.0.1:${(started.address() as AddressInfo).port}`,
      region: 'us-east-1',
      bucket: 'bucket',
      accessKeyId: 'key',
      secretAccessKey: 'secret',
      forcePathStyle: true,
      checksums: 'when_required',
      ...(deadlines && { deadlines }),
    });
  }

  const short = { answerMs: 300, stallMs: 300, controlMs: 300, completeMs: 300 };

  it('ends every call on a server that takes connections and never answers', async () => {
    const store = await answering(() => undefined, short);
    await expect(store.get('a')).rejects.toMatchObject(unavailable);
    await expect(store.head('a')).rejects.toMatchObject(unavailable);
    await expect(store.check(noReason)).rejects.toMatchObject(unavailable);
    await expect(listed(store, 'a/')).rejects.toMatchObject(unavailable);
    await expect(store.dropUnfinished('a/')).rejects.toMatchObject(unavailable);
    await expect(store.put('a', randomBytes(10), jpeg)).rejects.toMatchObject(writeFailed);
    await expect(store.put('a', randomBytes(5 * MIB), jpeg)).rejects.toMatchObject(writeFailed);
    await expect(store.put('a', endless(), jpeg)).rejects.toMatchObject(writeFailed);
    await expect(store.delete(['a'])).rejects.toMatchObject(writeFailed);
  });

  it('rejects with the reason of an abort while it waits for an answer', async () => {
    const abort = new AbortController();
    const store = await answering(() => abort.abort(new Error('no longer wanted')));
    const { signal } = abort;
    await expect(store.get('a', { signal })).rejects.toThrow('no longer wanted');
    const again = new AbortController();
    const second = await answering(() => again.abort(new Error('never mind')));
    await expect(second.put('a', randomBytes(10), { ...jpeg, signal: again.signal })).rejects.toThrow(
      'never mind',
    );
  });

  it('ends every call on a server that is not there', async () => {
    const store = open({
      endpoint: 'http://127.0.0.1:1',
      region: 'us-east-1',
      bucket: 'bucket',
      accessKeyId: 'key',
      secretAccessKey: 'secret',
      forcePathStyle: true,
      checksums: 'when_required',
    });
    await expect(store.get('a')).rejects.toMatchObject(unavailable);
    await expect(store.check(noReason)).rejects.toMatchObject(unavailable);
    await expect(store.put('a', randomBytes(10), jpeg)).rejects.toMatchObject(writeFailed);
    await expect(store.delete(['a'])).rejects.toMatchObject(writeFailed);
  });

  it('gives the connection up when the reader of a big object goes away', async () => {
    let closed = (): void => undefined;
    const whenClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const store = await answering((_request, response) => {
      response.once('close', closed);
      response.writeHead(200, { 'content-length': String(1_000 * MIB) });
      response.write(randomBytes(MIB));
    });
    const { stream } = await store.get('a');
    stream.destroy();
    await whenClosed;
  });

  it('ends the stream of a body that stops coming', async () => {
    const store = await answering((_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('some of it');
    }, short);
    await expect(buffer((await store.get('a')).stream)).rejects.toMatchObject(unavailable);
  });

  it('does not take a body that ends early for the whole', async () => {
    const store = await answering((_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('some of it', () => response.destroy());
    });
    await expect(buffer((await store.get('a')).stream)).rejects.toMatchObject(unavailable);
  });

  it('does not take the whole object for the range that was asked for', async () => {
    for (const whole of ['all', 'all of the object']) {
      const store = await answering((_request, response) => response.end(whole));
      await expect(store.get('a', { range: { start: 4, end: 8 } })).rejects.toMatchObject(unavailable);
    }
  });

  it('does not take the 404 of another kind of server for a missing object', async () => {
    const store = await answering((_request, response) => {
      response.writeHead(404, { 'content-type': 'text/html' });
      response.end('<h1>Not found</h1>');
    });
    await expect(store.get('a')).rejects.toMatchObject(unavailable);
    await expect(store.head('a')).rejects.toMatchObject(unavailable);
  });

  it('tries again after answers that pass by themselves', async () => {
    let requests = 0;
    const store = await answering((request, response) => {
      requests += 1;
      request.resume();
      request.once('end', () => {
        response.statusCode = requests % 3 === 0 ? 200 : requests % 3 === 1 ? 503 : 500;
        response.end(request.method === 'GET' ? 'bytes' : undefined);
      });
    });
    expect((await buffer((await store.get('a')).stream)).toString()).toBe('bytes');
    expect(requests).toBe(3);
    expect(await store.put('a', randomBytes(1_000_000), jpeg)).toBe(1_000_000);
    expect(requests).toBe(6);
  });

  it('tries again when the server closes the connection instead of answering', async () => {
    let requests = 0;
    const store = await answering((request, response) => {
      requests += 1;
      request.resume();
      if (requests % 2 === 1) request.socket.destroy();
      else request.once('end', () => response.end('bytes'));
    });
    expect((await buffer((await store.get('a')).stream)).toString()).toBe('bytes');
    expect(await store.put('a', randomBytes(10), jpeg)).toBe(10);
    expect(requests).toBe(4);
  });

  it('fails when such answers do not pass', async () => {
    let requests = 0;
    const store = await answering((request, response) => {
      requests += 1;
      request.resume();
      response.writeHead(503).end();
    });
    await expect(store.get('a')).rejects.toMatchObject(unavailable);
    expect(requests).toBe(3);
    await expect(store.put('a', randomBytes(10), jpeg)).rejects.toMatchObject(writeFailed);
    expect(requests).toBe(6);
  });

  it('asks for the object when the answer that completes a multipart upload is lost', async () => {
    const size = 9 * MIB;
    const store = await answering((request, response) => {
      request.resume();
      request.once('end', () => {
        const url = request.url ?? '';
        if (request.method === 'POST' && url.includes('uploads')) {
          response.end(
            '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>',
          );
        } else if (request.method === 'PUT') {
          response.writeHead(200, { etag: '"part"' }).end();
        } else if (request.method === 'HEAD') {
          response.writeHead(200, { 'content-length': String(size) }).end();
        } else {
          response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>');
        }
      });
    });
    expect(await store.put('a', endlessUntil(size), jpeg)).toBe(size);
  });

  it('aborts a multipart upload of which a part is refused', async () => {
    const seen: string[] = [];
    const store = await answering((request, response) => {
      request.resume();
      request.once('end', () => {
        const url = request.url ?? '';
        seen.push(
          `${request.method} ${new URL(url, 'http://s3').searchParams.get('partNumber') ?? ''}`.trim(),
        );
        if (request.method === 'POST') {
          response.end(
            '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>',
          );
        } else if (url.includes('partNumber=2')) {
          response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
        } else {
          response.writeHead(request.method === 'DELETE' ? 204 : 200, { etag: '"part"' }).end();
        }
      });
    });
    await expect(store.put('a', endless(), jpeg)).rejects.toMatchObject(writeFailed);
    expect(seen[0]).toBe('POST');
    expect(seen.at(-1)).toBe('DELETE');
  });

  it('does not take a removal for done that the server did not confirm', async () => {
    const store = await answering((request, response) => {
      request.resume();
      request.once('end', () =>
        response.end(
          '<DeleteResult><Deleted><Key>a</Key></Deleted>' +
            '<Error><Key>b</Key><Code>InternalError</Code></Error></DeleteResult>',
        ),
      );
    });
    await store.delete(['a']);
    await expect(store.delete(['a', 'b'])).rejects.toMatchObject(writeFailed);
  });
});
