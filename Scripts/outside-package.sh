#!/usr/bin/env bash
# Does what README.md says to an app: builds a package outside of this one, of the Package.swift and the program that
# stand there, which gets the last commit of this repository as the version that is named there; runs it, and looks at what
# it links.
# Also loads the package from the folders that Dockerfile copies, which must not need another one.
# Takes one to three minutes on two cores, and leaves nothing behind.
#
# usage: Scripts/outside-package.sh [--static]
#   --static    builds the program for release with Swift's libraries inside, too, and looks at its size
set -euo pipefail
cd "$(dirname "$0")/.."
unset POWERSYNC_ONLY POWERSYNC_FUZZ

fail() {
    printf 'outside-package: %s\n' "$@" >&2
    exit 1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# SwiftPM leaves locks in the folder for temporary files.
export TMPDIR=$folder/tmp
mkdir "$TMPDIR"
source=$folder/powersync-swift.git
app=$folder/MyApp
git clone --quiet . "$source"

# Prints the code block of that number below the heading.
snippet() {
    awk -v number="$1" '
        /^## / { inside = /^## Add the client to your app$/ }
        inside && /^```/ { if (code) code = 0; else { code = 1; blocks++ } next }
        inside && code && blocks == number' "$source/README.md"
}
mkdir -p "$app/Sources/MyApp"
snippet 1 | sed "s|https://example.com/powersync-swift.git|file://$source|" >"$app/Package.swift"
snippet 2 >"$app/Sources/MyApp/main.swift"
grep -qF "file://$source" "$app/Package.swift" || fail 'README.md has no Package.swift with the placeholder of the URL'
version=$(sed -n 's/.*from: "\([0-9.]*\)".*/\1/p' "$app/Package.swift")
known=$(sed -n 's/.*current = "\(.*\)"/\1/p' "$source/Platform/System/PackageVersion.swift")
case $known in
"$version") heading="## [$version]" ;;
"$version-dev") heading='## [Unreleased]' ;;
*) fail "README.md names version $version, and the programs call themselves $known" ;;
esac
grep -qF "$heading" "$source/CHANGELOG.md" || fail "CHANGELOG.md has no $heading"
git -C "$source" update-ref "refs/tags/$version" HEAD

# What SwiftPM keeps for the next time goes into the folder too.
swift_build() {
    swift build --package-path "$app" --cache-path "$folder/cache" --config-path "$folder/config" \
        --security-path "$folder/security" "$@"
}
echo 'Building a package that depends on this one…'
swift_build >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2 && fail 'the package does not build'; }
program=$(swift_build --show-bin-path)/MyApp
output=$(POWERSYNC_DATA_DIR=$folder/data "$program" 2>"$folder/log") || { cat "$folder/log" >&2 && fail 'it fails'; }
[ "$output" = '1 × Books' ] || fail "the program printed: $output"
[ -s "$folder/data/lists.db" ] || fail 'the program made no lists.db in POWERSYNC_DATA_DIR'

if [ "$(uname -s)" = Linux ]; then
    # Without what belongs to Swift and to C. All of Foundation would make a static program four times as large. zlib and zstd
    # decompress streams piece by piece, which libcurl's own decoders do not; libcrypto digests attachments; libcurl brings all
    # three along.
    linked=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' |
        awk '!/^(libswift.*|lib(FoundationEssentials|dispatch|BlocksRuntime|c|m|pthread|dl|rt|util|gcc_s|stdc\+\+)|ld-linux.*)$/' |
        sort | xargs)
    [ "$linked" = 'libcrypto libcurl libsqlite3 libz libzstd' ] || fail "the program links: $linked"
fi
echo "It prints '$output' and links ${linked:-what this system calls otherwise}."

echo 'Building it on the dynamic library…'
sed 's/name: "PowerSync"/name: "PowerSyncDynamic"/' "$app/Package.swift" >"$folder/manifest"
cmp -s "$folder/manifest" "$app/Package.swift" && fail 'README.md has no Package.swift with the product PowerSync'
cp "$app/Package.swift" "$folder/manifest.before"
cp "$folder/manifest" "$app/Package.swift"
swift_build >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2 && fail 'it does not build on PowerSyncDynamic'; }
output=$(POWERSYNC_DATA_DIR=$folder/dynamic "$program" 2>"$folder/log") || { cat "$folder/log" >&2 && fail 'it fails'; }
[ "$output" = '1 × Books' ] || fail "the program on PowerSyncDynamic printed: $output"
if [ "$(uname -s)" = Linux ]; then
    readelf -d "$program" | grep 'NEEDED.*libPowerSyncDynamic' >/dev/null || fail 'the program does not link PowerSyncDynamic'
fi
cp "$folder/manifest.before" "$app/Package.swift"

if [ "${1:-}" = --static ]; then
    echo 'Building it for release, with the libraries of Swift inside…'
    options=(-c release --static-swift-stdlib)
    swift_build "${options[@]}" >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2 && fail 'the static build fails'; }
    program=$(swift_build "${options[@]}" --show-bin-path)/MyApp
    strip "$program"
    size=$(($(wc -c <"$program") / 1000000))
    [ "$size" -le 20 ] || fail "the static program has $size MB, 20 are allowed: which part pulls in all of Foundation?"
    output=$(POWERSYNC_DATA_DIR=$folder/static "$program" 2>"$folder/log") || { cat "$folder/log" >&2 && fail 'it fails'; }
    [ "$output" = '1 × Books' ] || fail "the static program printed: $output"
    echo "It has $size MB, stripped."
fi

image=$folder/image
mkdir "$image"
only=$(sed -n 's/^ENV POWERSYNC_ONLY=//p' Dockerfile)
while read -r from to; do
    mkdir -p "$image/$(dirname "$to")"
    cp -R "$source/$from" "$image/$to"
done < <(sed -n 's|^COPY \([^-].*\)|\1|p' Dockerfile)
POWERSYNC_ONLY=$only swift package --package-path "$image" --cache-path "$folder/cache" describe \
    >"$folder/log" 2>&1 || { cat "$folder/log" >&2 && fail 'Dockerfile does not copy all that the programs need'; }
echo 'Dockerfile copies every folder of its programs.'
