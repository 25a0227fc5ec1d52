# Redis and an S3 server for the tests, on free ports of this machine. Sourced by .ci/run.
# Installs what is missing: Redis by apt, versitygw by go into a cache folder.

CACHE="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/stowage-ci"
VERSITYGW=github.com/versity/versitygw/cmd/versitygw@v1.7.0
SERVICE_PIDS=()

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

free_port() {
  node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })"
}

# until_up SECONDS COMMAND…: tries the command until it succeeds
until_up() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.1
  done
}

install_redis() {
  command -v redis-server >/dev/null && return
  echo "installing Redis"
  # RUNLEVEL=1 keeps the package from starting a server of its own.
  as_root apt-get update -qq &&
    as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server
}

install_s3() {
  [ -x "$CACHE/bin/versitygw" ] && return
  echo "building versitygw"
  PATH="$PATH:/usr/local/go/bin:/usr/lib/go/bin"
  if ! command -v go >/dev/null; then
    as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq golang-go
  fi
  mkdir -p "$CACHE/bin"
  GOBIN="$CACHE/bin" go install "$VERSITYGW"
}

# start_redis FOLDER: sets TEST_REDIS_URL
start_redis() {
  local port
  port=$(free_port)
  mkdir -p "$1"
  redis-server --bind 127.0.0.1 --port "$port" --dir "$1" --save '' --appendonly no --maxmemory-policy noeviction \
    >"$1/redis.log" 2>&1 &
  SERVICE_PIDS+=($!)
  until_up 20 redis-cli -p "$port" ping || { cat "$1/redis.log"; return 1; }
  export TEST_REDIS_URL="redis://127.0.0.1:$port"
}

# start_s3 FOLDER: sets TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY_ID, TEST_S3_SECRET_ACCESS_KEY
start_s3() {
  local port
  port=$(free_port)
  mkdir -p "$1/objects"
  export TEST_S3_ACCESS_KEY_ID="ci$RANDOM" TEST_S3_SECRET_ACCESS_KEY="secret$RANDOM$RANDOM"
  "$CACHE/bin/versitygw" --quiet -a "$TEST_S3_ACCESS_KEY_ID" -s "$TEST_S3_SECRET_ACCESS_KEY" --port "127.0.0.1:$port" \
    --health /health posix "$1/objects" >"$1/versitygw.log" 2>&1 &
  SERVICE_PIDS+=($!)
  until_up 20 node -e "fetch('http://127.0.0.1:$port/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))" ||
    { cat "$1/versitygw.log"; return 1; }
  export TEST_S3_ENDPOINT="http://127.0.0.1:$port"
}

stop_services() {
  local pid
  for pid in "${SERVICE_PIDS[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${SERVICE_PIDS[@]}"; do wait "$pid" 2>/dev/null; done
  SERVICE_PIDS=()
}
