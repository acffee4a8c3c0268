#!/usr/bin/env bash
# Compares three things: the table of arrows in ARCHITECTURE.md, the dependencies in Package.swift, and the
# imports of the sources. A part may import what its row names, a test target what Package.swift gives it.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# One line a target: name, folder, imports; names without the prefix that every target carries.
declared=$(sed 's|//.*||' Package.swift | tr '\n' ' ' | awk '
    function quoted(text,    list, part, count, index_) {
        list = ""
        count = split(text, part, "\"")
        for (index_ = 2; index_ <= count; index_ += 2) {
            sub(/^C:/, "C", part[index_])
            list = list " " part[index_]
        }
        return list
    }
    {
        text = $0
        while (match(text, /(library|command|tests)\( *"[A-Za-z]+",/)) {
            call = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            kind = call
            sub(/\(.*/, "", kind)
            split(call, piece, "\"")
            name = piece[2]
            arguments = text
            # The first list is the dependencies, unless a call without any ends before it.
            opening = index(arguments, "[")
            closing = index(arguments, ")")
            imports = ""
            if (opening > 0 && (closing == 0 || opening < closing)) {
                rest = substr(arguments, opening + 1)
                imports = quoted(substr(rest, 1, index(rest, "]") - 1))
            }
            if (kind == "tests") {
                print name "Tests Tests/" name "Tests" imports
            } else {
                split(arguments, piece, "\"")
                print name " " piece[2] imports
            }
        }
    }')

# The rows between the two marks: | part | folder | imports |
table=$(awk -F '|' '
    /<!-- arrows -->/ { inside = 1; next }
    /<!-- \/arrows -->/ { inside = 0 }
    inside && NF >= 4 && $2 !~ /^ *(part|-+) *$/ {
        gsub(/[`,–]/, " ")
        print $2, $3, $4
    }' ARCHITECTURE.md | tr -s ' ' | sed 's/^ //; s/ $//')

status=0
complain() {
    printf '%s\n' "$1"
    status=1
}

[ -n "$table" ] || complain 'ARCHITECTURE.md: no table of arrows between <!-- arrows --> and <!-- /arrows -->'
[ -n "$declared" ] || complain 'Package.swift: no target was found'

sorted() {
    tr ' ' '\n' | sort -u | tr '\n' ' '
}

# Package.swift and the table say the same.
while read -r name folder imports; do
    row=$(printf '%s\n' "$table" | awk -v name="$name" '$1 == name')
    if [ -z "$row" ]; then
        complain "ARCHITECTURE.md: the table of arrows has no row for $name"
        continue
    fi
    read -r _ table_folder table_imports <<<"$row"
    [ "$folder" = "$table_folder" ] || complain "$name: $folder in Package.swift, $table_folder in ARCHITECTURE.md"
    if [ "$(sorted <<<"$imports")" != "$(sorted <<<"$table_imports")" ]; then
        complain "$name depends on [$imports] in Package.swift, on [$table_imports] in ARCHITECTURE.md"
    fi
done < <(printf '%s\n' "$declared" | grep -v '^[A-Za-z]*Tests ')
while read -r name _; do
    grep -q "^$name " <<<"$declared" || complain "ARCHITECTURE.md: the row $name is no target of Package.swift"
done < <(printf '%s\n' "$table")

# The imports of every file are those of its part; the innermost folder decides which part that is.
imports=$(find Wire Platform Client Backend MockService Stack Tests Benchmarks -name '*.swift' -print0 |
    xargs -0 grep -HnE '^ *(@[A-Za-z_()]+ +)*((public|package|internal|private|fileprivate) +)?import +[A-Za-z]' || true)
printf '%s\n' "$imports" | awk -v targets="$declared" '
    BEGIN {
        system_modules = " Foundation FoundationEssentials Dispatch Synchronization Observation OSLog Testing Glibc Musl Darwin "
        count = split(targets, line, "\n")
        for (number = 1; number <= count; number++) {
            split(line[number], word, " ")
            name[number] = word[1]
            folder[number] = word[2] "/"
            allowed[number] = line[number] " "
            sub(/^[^ ]+ [^ ]+/, "", allowed[number])
        }
    }
    {
        file = $0
        sub(/:.*/, "", file)
        place = $0
        sub(/^[^:]*:/, "", place)
        sub(/:.*/, "", place)
        module = $0
        sub(/^.*import +((struct|class|enum|protocol|func|var|let|typealias) +)?/, "", module)
        sub(/[^A-Za-z0-9_].*/, "", module)
        best = 0
        for (number = 1; number <= count; number++) {
            if (index(file, folder[number]) == 1 && length(folder[number]) > length(folder[best])) best = number
        }
        if (best == 0) { print file ": in no folder of Package.swift"; bad = 1; next }
        if (module == "PowerSync") part = "Client"
        else if (module ~ /^PowerSync/) part = substr(module, 10)
        else if (module ~ /^CPowerSync/) part = "C" substr(module, 11)
        else {
            if (index(system_modules, " " module " ") == 0) {
                print file ":" place ": " module " is neither a part of this package nor of the toolchain that we use"
                bad = 1
            }
            next
        }
        if (index(allowed[best], " " part " ") == 0) {
            print file ":" place ": " name[best] " may not import " module
            bad = 1
        }
    }
    END { exit bad }' || status=1
exit $status
