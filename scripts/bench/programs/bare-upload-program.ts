/** The counterpart of small uploads: Fastify, multipart, one PutObject of the SDK. No database, no checks, no jobs. */
import { randomUUID } from 'node:crypto';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import multipart from '@fastify/multipart';
import fastify from 'fastify';

const [endpoint = '', accessKeyId = '', secretAccessKey = '', Bucket = '', port = '0'] =
  process.argv.slice(2);
const s3 = new S3Client({
  endpoint,
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId, secretAccessKey },
});
const app = fastify();
await app.register(multipart, { limits: { fileSize: 500 * 2 ** 20 } });
app.get('/ready', async () => 'yes');
app.post('/', async (request, reply) => {
  const file = await request.file();
  if (file === undefined) return reply.code(400).send();
  const Key = randomUUID();
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: await file.toBuffer() }));
  return Key;
});
await app.listen({ port: Number(port), host: '127.0.0.1' });
