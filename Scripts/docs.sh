#!/usr/bin/env bash
# Writes the reference of the module PowerSync as a static site into .build/docs. A warning of DocC is an error.
#
# usage: Scripts/docs.sh [--serve [PORT]]
#   --serve    shows it on 127.0.0.1 until Ctrl-C; the port is a free one unless it is given
set -euo pipefail
cd "$(dirname "$0")/.."

misused() {
    echo "docs: $1; usage: Scripts/docs.sh [--serve [PORT]]" >&2
    exit 2
}
serves=''
port=0
if [ "${1:-}" = --serve ]; then
    serves=1
    shift
    if [ $# -gt 0 ]; then
        port=$1
        shift
    fi
fi
if [ $# -gt 0 ]; then misused "unknown argument $1"; fi
if [[ ! $port =~ ^[0-9]{1,5}$ ]] || ((10#$port > 65535)); then misused "there is no port $port"; fi
docc=$(dirname "$(readlink -f "$(command -v swift)")")/docc
if [ ! -x "$docc" ]; then
    echo "docs: the toolchain has no $docc: install the whole of it (https://swift.org/install)" >&2
    exit 1
fi
if [ -n "$serves" ] && ! command -v python3 >/dev/null; then
    echo 'docs: --serve needs python3; without it any web server shows .build/docs' >&2
    exit 1
fi

graph=$(mktemp -d)
trap 'rm -rf "$graph"' EXIT
Scripts/symbol-graph.sh "$graph"
rm -rf .build/docs
"$docc" convert Documentation/PowerSync.docc --additional-symbol-graph-dir "$graph" --output-dir .build/docs \
    --fallback-display-name PowerSync --fallback-bundle-identifier com.powersync.PowerSync \
    --transform-for-static-hosting --warnings-as-errors >&2
rm -rf "$graph"
trap - EXIT
echo 'The reference is in .build/docs: documentation/powersync/index.html, for any web server.' >&2

if [ -n "$serves" ]; then
    cd .build/docs
    exec python3 -u - "$port" <<'PYTHON'
import http.server
import sys

try:
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler
    )
except OSError as error:
    sys.exit(f"docs: port {sys.argv[1]}: {error.strerror}")
print(f"http://127.0.0.1:{server.server_port}/documentation/powersync/ until Ctrl-C", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
PYTHON
fi
