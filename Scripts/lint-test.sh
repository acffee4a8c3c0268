#!/usr/bin/env bash
# Proves that the checks of imports, contents and the compose file notice what they are for: each mistake is made in
# a copy of the project, and the check must name it.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar --create --exclude=./.build --exclude=./.git --exclude=./Tests/Fixtures --exclude=./Documentation . |
    tar --extract --directory "$copy"
status=0

# The check must pass as things are, and fail with the text after the change.
notices() {
    local title=$1 check=$2 text=$3 file=$4 content=$5 output before=""
    if [ -e "$copy/$file" ]; then before=$(cat "$copy/$file"; echo .); fi
    mkdir -p "$(dirname "$copy/$file")"
    printf '%s\n' "$content" >>"$copy/$file"
    if output=$("$check" "$copy" 2>&1); then
        echo "not noticed: $title"
        status=1
    elif ! grep -qF -- "$text" <<<"$output"; then
        printf 'noticed for another reason: %s\n%s\n' "$title" "$output"
        status=1
    fi
    if [ -n "$before" ]; then printf '%s' "${before%.}" >"$copy/$file"; else rm "$copy/$file"; fi
}

imports=Scripts/lint-imports.sh
contents=Scripts/lint-contents.sh
compose=Scripts/lint-compose.sh
"$imports" "$copy" >/dev/null || { echo 'the copy has wrong imports already' && exit 1; }

notices 'the client imports Postgres' $imports 'Client may not import PowerSyncPostgres' \
    Client/New.swift 'import PowerSyncPostgres'
notices 'an import with attributes' $imports 'Wire may not import PowerSyncSystem' \
    Wire/New.swift '@preconcurrency package import struct PowerSyncSystem.Lock'
notices 'the backend uses a library of another part' $imports 'Backend may not import CPowerSyncSQLite' \
    Backend/New.swift 'import CPowerSyncSQLite'
notices 'a test imports what its target does not name' $imports 'CryptoTests may not import PowerSyncSystem' \
    Tests/CryptoTests/New.swift '@testable import PowerSyncSystem'
notices 'a module from elsewhere' $imports 'NIO is neither a part' Platform/HTTP/New.swift 'import NIO'
notices 'a row that Package.swift does not have' $imports 'the row Elsewhere is no target' \
    ARCHITECTURE.md $'<!-- arrows -->\n| Elsewhere | `Elsewhere` | Wire |\n<!-- /arrows -->'
notices 'a new target without a row' $imports 'no row for Elsewhere' \
    Package.swift 'let more = [library("Elsewhere", "Elsewhere", ["Wire"])]'
notices 'an arrow in Package.swift alone' $imports 'depends on' \
    Package.swift 'let more = [library("Wire", "Wire", ["System"])]'

notices 'a path of one machine' $contents 'a path of one machine' Wire/New.swift "// see /$(echo root)/notes"
notices 'a link to nowhere' $contents 'missing.md leads outside or nowhere' NEW.md '[text](missing.md)'
notices 'a link that leads outside' $contents '../other/file leads outside' NEW.md 'as in ../other/file'
notices 'a private key in JSON' $contents 'a private key' docker/key.json \
    "{\"$(echo d)\": \"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI\"}"
notices 'a private key in PEM' $contents 'a private key' docker/key.pem "-----BEGIN $(echo PRIVATE) KEY-----"
notices 'a note for later' $contents 'a note to do something later' Wire/New.swift "// $(echo TODO): later"
notices 'an unsafe claim without its reason' $contents 'Wire/New.swift:1: says not' \
    Wire/New.swift 'final class New: @unchecked Sendable {}'
notices 'a package from elsewhere' $contents 'a package from elsewhere' Package.swift \
    "let more = Package.Dependency.$(echo package)(url: \"x\", from: \"1.0.0\")"

notices 'ports open to every machine' $compose "mock-service publishes \${BIND_ADDRESS}:\${PS_PORT}:8080 on '0.0.0.0'" \
    .env 'BIND_ADDRESS=0.0.0.0'
sed -i 's/- ${BIND_ADDRESS}:/- /' "$copy/docker-compose.yml"
notices 'a port without an address' $compose "backend publishes \${DEMO_BACKEND_PORT}:6060 on ''" docker-compose.yml ''
exit $status
