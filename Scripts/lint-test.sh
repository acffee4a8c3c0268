#!/usr/bin/env bash
# Proves that the checks of imports, contents and the compose file notice what they are for: each mistake is made in
# a copy of the project, and the check must name it.
set -euo pipefail
cd "$(dirname "$0")/.."

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
tar -cf "$temporary/project.tar" --exclude './.build*' --exclude ./.git .
new_copy() {
    copy=$temporary/$1
    mkdir "$copy"
    tar -xf "$temporary/project.tar" -C "$copy"
}
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

imports=Scripts/lint-imports.py
new_copy imports

# All wrong imports are planted at once, because the check asks the compiler; each has to be named, and nothing else.
wrong=()
plant() {
    wrong+=("$1")
    mkdir -p "$(dirname "$copy/$2")"
    printf '%s\n' "$3" >>"$copy/$2"
}
replace() {
    wrong+=("$1")
    sed "s~$3~$4~" "$copy/$2" >"$copy/$2.new"
    cmp -s "$copy/$2" "$copy/$2.new" && { echo "$2 has no $3" && status=1; }
    mv "$copy/$2.new" "$copy/$2"
}
plant 'Client/New.swift:1: Client may not import PowerSyncPostgres' Client/New.swift 'import PowerSyncPostgres'
plant 'Wire/New.swift:1: Wire may not import PowerSyncSystem' \
    Wire/New.swift '@preconcurrency package import struct PowerSyncSystem.Lock'
plant 'Wire/New.swift:3: Wire may not import PowerSyncYAML' \
    Wire/New.swift $'#if os(macOS) && canImport(PowerSyncYAML)\nimport PowerSyncYAML\n#endif'
plant 'Wire/New.swift:6: Wire may not import PowerSyncCrypto' \
    Wire/New.swift $'#if os(Linux) && !DEBUG\nimport PowerSyncCrypto\n#endif'
plant 'Backend may not import CPowerSyncSQLite' Backend/New.swift 'import CPowerSyncSQLite'
plant 'CryptoTests may not import PowerSyncCompression' \
    Tests/CryptoTests/New.swift '@testable import PowerSyncCompression'
# What a test gets along with what it declares: the build lets it pass.
plant 'SQLiteTests may not import CPowerSyncSQLite' Tests/SQLiteTests/New.swift 'import CPowerSyncSQLite'
plant 'Fuzzing may not import PowerSyncHTTPClient' Tests/Fuzzing/New.swift 'import PowerSyncHTTPClient'
plant 'NIO is neither a part' Platform/HTTP/New.swift 'import NIO'
plant 'Tests/New/New.swift: in no folder of Package.swift' Tests/New/New.swift 'import Foundation'
# Neither comment nor text is an import.
printf '/*\nimport PowerSyncStack\n*/\nlet text = """\n    import PowerSyncStack\n    """\n' >"$copy/Wire/Newer.swift"
replace 'the row Elsewhere is no target' ARCHITECTURE.md '^<!-- /arrows -->' \
    $'| Elsewhere | `Elsewhere` | Wire |\\\n<!-- /arrows -->'
replace 'no row for Nowhere' Package.swift '^    library("Wire", "Wire"),' \
    'library("Wire", "Wire"), library("Nowhere", "Nowhere", ["Wire"]),'
replace 'YAML depends on Crypto in Package.swift, not in' Package.swift '\["C:YAML"\]' '["C:YAML", "Crypto"]'
replace 'CommandLine depends on HTTP in ARCHITECTURE.md, not in' ARCHITECTURE.md '^\(| CommandLine .*\) System' '\1 System, HTTP'
if output=$("$imports" "$copy" 2>&1); then
    echo 'no wrong import was noticed'
    status=1
fi
for text in "${wrong[@]}"; do
    grep -qF -- "$text" <<<"$output" || { echo "not noticed: $text" && status=1; }
done
if [ "$(wc -l <<<"$output")" -ne ${#wrong[@]} ]; then
    printf '%s mistakes were planted, and these were noticed:\n%s\n' ${#wrong[@]} "$output"
    status=1
fi
contents=Scripts/lint-contents.sh
compose=Scripts/lint-compose.sh
# Keeps what is planted out of this file.
word() { printf '%s' "$1"; }
new_copy contents
"$contents" "$copy" || { echo 'the copy has wrong contents already' && exit 1; }
notices 'a path of one machine' $contents 'a path of one machine' Wire/New.swift "// see /$(word root)/notes"
notices 'a link to nowhere' $contents 'missing.md leads outside or nowhere' NEW.md '[text](missing.md)'
notices 'a link that leads outside' $contents '../other/file leads outside' NEW.md 'as in ../other/file'
touch "$temporary/outside.md"
notices 'a link to a file outside' $contents '../outside.md leads outside' NEW.md '[text](../outside.md)'
notices 'a private key in JSON' $contents 'a private key' docker/key.json \
    "{\"$(word d)\": \"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI\"}"
notices 'a private key in PEM' $contents 'a private key' docker/key.pem "-----BEGIN $(word PRIVATE) KEY-----"
notices 'a note for later' $contents 'a note to do something later' Wire/New.swift "// $(word TODO): later"
notices 'a continuation that ThreadSanitizer does not follow' $contents 'a continuation that ThreadSanitizer does not follow' \
    Client/New.swift "await $(word withChecked)Continuation { _ in }"
notices 'an unsafe claim without its reason' $contents 'Wire/New.swift:1: says not' \
    Wire/New.swift 'final class New: @unchecked Sendable {}'
notices 'a bound that nobody judges' $contents 'New.swift: POWERSYNC_REAL_TIMES is set for it by nobody' \
    Tests/WireTests/New.swift 'let isReal = TestOptions.number("POWERSYNC_REAL_TIMES", standard: 0) == 1'
notices 'a suite that is not there' $contents 'Scripts/nightly.sh: there is no suite GoneTests' \
    Scripts/nightly.sh "# Scripts/test.sh --filter '$(word Gone)Tests|CrashTests'"
notices 'a script that is not there' $contents 'there is no Scripts/gone.sh' Documentation/StackReview.md 'Scripts/gone.sh'
notices 'a test that is not there' $contents 'there is no test WireTests.goneWithout' Documentation/StackReview.md \
    'WireTests.goneWithout'
if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ]; then
    printf 'gitdir: %s\n' "$(git rev-parse --absolute-git-dir)" >"$copy/.git"
    notices 'a commit that is not there' $contents 'the commit 0123456 is not in the history' \
        Documentation/StackReview.md '0123456'
    rm "$copy/.git"
fi
notices 'a package from elsewhere' $contents 'a package from elsewhere' Package.swift \
    "let more = Package.Dependency.$(word package)(url: \"x\", from: \"1.0.0\")"

notices 'ports open to every machine' $compose "mock-service publishes \${BIND_ADDRESS}:\${PS_PORT}:8080 on '0.0.0.0'" \
    .env 'BIND_ADDRESS=0.0.0.0'
# shellcheck disable=SC2016 # the name of the variable, not its value
sed 's/- ${BIND_ADDRESS}:/- /' docker-compose.yml >"$copy/docker-compose.yml"
notices 'a port without an address' $compose "backend publishes \${DEMO_BACKEND_PORT}:6060 on ''" docker-compose.yml ''
exit $status
