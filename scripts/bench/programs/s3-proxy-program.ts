/** The counterpart of a read through S3: Fastify that passes on what plain undici gets from the server. */
import fastify from 'fastify';
import { Pool } from 'undici';

const [origin = '', path = '', signed = '{}', port = '0'] = process.argv.slice(2);
const headers: Record<string, string> = JSON.parse(signed);
const pool = new Pool(origin, { connections: 64 });
const app = fastify();
app.get('/ready', async () => 'yes');
app.get('/picture', async (_request, reply) => {
  const answer = await pool.request({ method: 'GET', path, headers });
  reply.header('content-length', answer.headers['content-length']).type('image/jpeg');
  return reply.send(answer.body);
});
await app.listen({ port: Number(port), host: '127.0.0.1' });
