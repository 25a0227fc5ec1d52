# Schemathesis, which fuzzes the description of the API, in a virtual environment of its own. Sourced by .ci/run.

SCHEMATHESIS="$CACHE/schemathesis-4.32.5"

install_schemathesis() {
  [ -f "$SCHEMATHESIS/complete" ] && return
  echo "installing Schemathesis"
  if ! python3 -c 'import ensurepip' 2>/dev/null; then
    as_root apt-get update -qq &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv || return
  fi
  rm -rf "$SCHEMATHESIS"
  python3 -m venv "$SCHEMATHESIS" &&
    "$SCHEMATHESIS/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/ci/schemathesis.txt &&
    touch "$SCHEMATHESIS/complete"
}
