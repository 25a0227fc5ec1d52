import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { noteRoutes } from './known-routes.ts';

describe('known routes', () => {
  it('tell the methods of a path, whatever its parameters are', async () => {
    const app = Fastify({ exposeHeadRoutes: false });
    const routes = noteRoutes(app);
    const answer = async () => 'ok';
    app.options('*', answer);
    app.get('/', answer);
    app.post('/', answer);
    app.route({ method: ['GET', 'HEAD'], url: '/:name', handler: answer });
    app.delete('/:name', answer);
    app.get('/:name/webp', answer);
    app.get('/openapi.json', answer);
    await app.ready();
    expect(routes.methodsOf('/')).toEqual(['GET', 'POST']);
    expect(routes.methodsOf('/a.jpg')).toEqual(['DELETE', 'GET', 'HEAD']);
    expect(routes.methodsOf('/a.jpg/webp')).toEqual(['GET']);
    expect(routes.methodsOf('/openapi.json')).toEqual(['GET']);
    expect(routes.methodsOf('/openapixjson')).toEqual(['DELETE', 'GET', 'HEAD']);
    expect(routes.methodsOf('/a/b/c')).toEqual([]);
    expect(['/', '/a.jpg', '/openapi.json', '/*'].map(routes.isFixed)).toEqual([true, false, true, false]);
    await app.close();
  });
});
