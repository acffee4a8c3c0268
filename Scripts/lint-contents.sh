#!/usr/bin/env bash
# The project stands alone: no path of one machine, no path or link that leads outside or nowhere, no package from
# elsewhere, no private key, no note to do something later.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

status=0
complain() {
    printf '%s\n' "$1"
    status=1
}

# Prints what grep finds in the files, and why it is wrong.
forbid() {
    local reason=$1 pattern=$2 found
    shift 2
    # Not by its status: xargs may run grep several times.
    found=$(printf '%s\n' "$@" | tr '\n' '\0' | xargs -0 grep -InHE -- "$pattern" /dev/null | cut -c 1-200) || true
    if [ -n "$found" ]; then complain "$reason:"$'\n'"$found"; fi
}

# Lists of files are texts, one file a line.
all=$(find . \( -name .build -o -name .git -o -name .swiftpm \) -prune -o -type f -print | sed 's|^\./||' | sort)
select_files() {
    printf '%s\n' "$all" | grep -E "$1" | grep -vE "${2:-^$}" || true
}

ours=$(select_files . '^Tests/Fixtures/')
forbid 'a path of one machine' '(^|[^A-Za-z0-9_.$~/-])/(root|home|Users|work)/[A-Za-z0-9._-]' "$ours"

swift=$(select_files '\.swift$')
sources=$(select_files '\.swift$' '^(Tests|Package\.swift)')
forbid 'a note to do something later, without the number of an issue' '(TODO|FIXME)([^#]*$)' "$swift"
forbid 'fatalError outside tests' '(^|[^A-Za-z.])fatalError\(' "$sources"
forbid 'FoundationNetworking (ARCHITECTURE.md, Dependencies)' 'import +FoundationNetworking' "$swift"
forbid 'a continuation that ThreadSanitizer does not follow (Platform/System/Resumption.swift)' \
    'with(Checked|Unsafe)(Throwing)?Continuation' \
    "$(select_files '^(Platform/(System|SQLite|HTTP[A-Za-z]*)|Client|Tests/(TestSupport|ClientTests))/.*\.swift$' '/Resumption\.swift$')"
forbid 'a package from elsewhere' '\.package\(' Package.swift

# Keys stand in tests alone (backend 4.6).
shipped=$(select_files . '^(Tests/|Scripts/lint-contents\.sh$)')
forbid 'a private key' 'BEGIN [A-Z ]*PRIVATE KEY-----$|"d" *: *"[A-Za-z0-9_-]{30,}"' "$shipped"

# Where exclusive access is claimed by hand, the reason stands beside it.
printf '%s\n' "$swift" | tr '\n' '\0' | xargs -0 awk '
    function check(limit,    line) {
        for (line in claims) {
            if (reason >= line - 6) delete claims[line]
            else if (line + 6 < limit) {
                print file ":" line ": says not \"Safe because\" within six lines"
                failed = 1
                delete claims[line]
            }
        }
    }
    FNR == 1 { check(1e9); file = FILENAME; reason = -9 }
    /[Ss]afe because/ { reason = FNR }
    /@unchecked Sendable|nonisolated\(unsafe\)/ && !/^ *\/\// { claims[FNR] = 1 }
    { check(FNR) }
    END { check(1e9); exit failed }' || status=1

# Bounds that only the times of production have are judged by a step of the nightly run.
while IFS= read -r file; do
    [ -n "$file" ] || continue
    grep -qw "$(basename "$file" .swift)" Scripts/nightly.sh || complain "$file: POWERSYNC_REAL_TIMES is set for it by nobody"
done < <(printf '%s\n' "$swift" | tr '\n' '\0' | xargs -0 grep -lF '"POWERSYNC_REAL_TIMES"' || true)

# Suites that scripts run by their names are there: in a filter of several nobody would miss one.
suites=$(
    { printf '%s\n' "$swift" | tr '\n' '\0' | xargs -0 grep -ohE '(struct|class|actor|enum) [A-Z][A-Za-z0-9]*Tests\b' || true; } |
        sed 's/.* //' | sort -u
)
while IFS=: read -r file suite; do
    [ -n "$suite" ] || continue
    grep -qxF "$suite" <<<"$suites" || complain "$file: there is no suite $suite"
done < <(grep -oHE '\b[A-Z][A-Za-z0-9]*Tests\b' Scripts/nightly.sh Scripts/mutants.sh Scripts/sanitize.sh | sort -u)

# The commits of reviews are in the history, as far as this is a clone that has it; scripts that are named are there.
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] && [ "$(git rev-parse --is-shallow-repository)" = false ]; then
    while IFS=: read -r file commit; do
        [ -n "$commit" ] || continue
        git merge-base --is-ancestor "$commit" HEAD 2>/dev/null || complain "$file: the commit $commit is not in the history"
    done < <(grep -oHE '\b[0-9a-f]{7}\b' Documentation/*Review.md | sort -u)
fi
while IFS=: read -r file script; do
    [ -n "$script" ] || continue
    [ -e "$script" ] || complain "$file: there is no $script"
done < <(grep -roHE 'Scripts/[A-Za-z0-9-]+\.[a-z]+' Documentation | sort -u)

# So are the tests that reviews name; an ellipsis stands for the rest of a name.
tests=$(select_files '^Tests/.*\.swift$' | tr '\n' '\0' | xargs -0 grep -ohE 'func [a-z][A-Za-z0-9]*' | sed 's/^func //' | sort -u || true)
while IFS=: read -r file test; do
    [ -n "$test" ] || continue
    name=${test#*.}
    if [[ $name == *… ]]; then known="^${name%…}"; else known="^$name\$"; fi
    grep -q "$known" <<<"$tests" || complain "$file: there is no test $test"
done < <(grep -oHE '\b[A-Z][A-Za-z0-9]*Tests\.[a-z][A-Za-z0-9]*(…)?' Documentation/*Review.md | sort -u)

# Links of Markdown files, and paths with ../ in texts and scripts, lead to something inside.
root=$(pwd -P)
inside_and_there() {
    local target=$1/$2 folder
    [ -d "$target" ] || target=$(dirname "$target")
    [ -e "$1/$2" ] && folder=$(cd "$target" && pwd -P) && [[ $folder/ == "$root"/* ]]
}
texts=$(select_files '(\.md|\.sh|\.ya?ml|Makefile|Dockerfile|\.ci/run)$' '^Scripts/')
while IFS=: read -r file target; do
    [ -n "$target" ] || continue
    inside_and_there "$(dirname "$file")" "$target" || complain "$file: $target leads outside or nowhere"
done < <(
    {
        printf '%s\n' "$texts" | tr '\n' '\0' | xargs -0 grep -HoE '\]\([^)# ]+' | sed 's/\](//' | grep -vE ':(https?:|mailto:)' || true
        printf '%s\n' "$texts" | tr '\n' '\0' | xargs -0 grep -HoE '(^|[^./A-Za-z0-9])(\.\./)+[A-Za-z][A-Za-z0-9._/-]+' |
            sed -E 's/:[^.]*(\.\.\/)/:\1/' || true
    } | sort -u
)
while read -r link; do
    inside_and_there "$(dirname "$link")" "$(readlink "$link")" || complain "$link: a link that leads outside or nowhere"
done < <(find . \( -name .build -o -name .git \) -prune -o -type l -print)

exit $status
