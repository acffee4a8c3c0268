#!/usr/bin/env bash
# Proves what Scripts/setup.sh says about versions, on systems made of programs that only pretend, that the texts name
# the same versions, and that the targets of the Makefile ask it for Python where their scripts need that.
set -euo pipefail
cd "$(dirname "$0")/.."

pretended=$(mktemp -d)
trap 'rm -rf "$pretended"' EXIT
mkdir "$pretended/bin"

# A file a program: pkg-config reads versions from one, apt-get makes another the system's.
cat >"$pretended/bin/pkg-config" <<'END'
#!/bin/sh
here=$(awk -v module="$2" '$1 == module { print $2 }' "$PRETENDED/versions")
[ -n "$here" ] || exit 1
case $1 in
--exists) ;;
--modversion) echo "$here" ;;
--atleast-version=*) printf '%s\n' "${1#*=}" "$here" | sort -V -C ;;
*) exit 64 ;;
esac
END
cat >"$pretended/bin/apt-get" <<'END'
#!/bin/sh
echo "$*" >>"$PRETENDED/apt"
case "$*" in *' install '*) cp "$PRETENDED/installable" "$PRETENDED/versions" ;; esac
END
# shellcheck disable=SC2016 # expanded when it runs
printf '#!/bin/sh\ncat "$PRETENDED/swift"\n' >"$pretended/bin/swift"
printf '#!/bin/sh\necho Linux\n' >"$pretended/bin/uname"
printf '#!/bin/sh\necho 0\n' >"$pretended/bin/id"
chmod +x "$pretended/bin/"*

new='sqlite3 3.40.1
libpq 15.18
libcurl 7.88.1
libcrypto 3.0.19
yaml-0.1 0.2.5
expat 2.5.0
libedit 3.1
zlib 1.2.13
libzstd 1.5.4'
least='sqlite3 3.40
libpq 14
libcurl 7.87.0
libcrypto 3.0.0
yaml-0.1 0.2.1
expat 2.2.0
libedit 3.0
zlib 1.2
libzstd 1.4'
# Ubuntu 22.04
old='sqlite3 3.37.2
libpq 14.20
libcurl 7.81.0
libcrypto 3.0.2
yaml-0.1 0.2.5
expat 2.4.7
libedit 3.1
zlib 1.2.11
libzstd 1.4.8'

status=0
# Runs the set-up on a system with the versions; it must say each of the texts, or nothing and succeed without any.
says() {
    local title=$1 versions=$2 installable=$3 swift=$4 output text succeeded=true
    shift 4
    printf '%s\n' "$versions" >"$pretended/versions"
    printf '%s\n' "$installable" >"$pretended/installable"
    printf '%s\n' "$swift" >"$pretended/swift"
    : >"$pretended/apt"
    output=$(PRETENDED=$pretended PATH=$pretended/bin:/usr/bin:/bin Scripts/setup.sh libraries 2>&1) || succeeded=false
    if [ $# -eq 0 ]; then
        if [ -z "$output" ] && $succeeded; then return; fi
    elif ! $succeeded; then
        for text in "$@"; do
            if ! grep -qF -- "$text" <<<"$output"; then break; fi
            shift
        done
        if [ $# -eq 0 ]; then return; fi
    fi
    printf '%s: setup.sh said:\n%s\n' "$title" "$output"
    status=1
}

swift63='Swift version 6.3.1 (swift-6.3.1-RELEASE)'
says 'everything is new' "$new" "$new" "$swift63"
says 'everything is just new enough' "$least" "$new" 'Apple Swift version 6.4-dev (LLVM 1, Swift 2)'
says 'two are too old' "$old" "$new" "$swift63" \
    'SQLite 3.37.2 is here, 3.40 or newer is needed' 'libcurl 7.81.0 is here, 7.87 or newer is needed' \
    'Debian 12 and newer' 'Ubuntu 24.04 and newer' 'Ubuntu 22.04'
if [ -s "$pretended/apt" ]; then
    echo 'what is too old was installed again'
    status=1
fi
says 'what can be installed is too old' '' "$old" "$swift63" \
    'libcurl 7.81.0 is here, 7.87 or newer is needed' 'Debian 12 and newer'
says 'libpq is too old' "${new/libpq 15.18/libpq 13.9}" '' "$swift63" \
    'libpq 13.9 is here, 14 or newer is needed'
says 'OpenSSL is too old' "${new/libcrypto 3.0.19/libcrypto 1.1.1n}" '' "$swift63" \
    'OpenSSL 1.1.1n is here, 3.0 or newer is needed'
says 'one does not come' '' "${new/zlib 1.2.13/}" "$swift63" 'still missing after the installation: zlib'
says 'Swift is too old' "$new" "$new" 'Swift version 6.2.4 (swift-6.2.4-RELEASE)' \
    'Swift 6.2 is here, 6.3 or newer is needed'
echo "$swift63" >"$pretended/swift"
if PATH=$pretended/bin:/usr/bin:/bin PRETENDED=$pretended Scripts/setup.sh nonsense >/dev/null 2>&1; then
    echo 'a group that there is not is taken for one'
    status=1
fi

# The texts name the same versions.
count=0
while read -r version name; do
    count=$((count + 1))
    grep -qF "| $name | $version |" CONTRIBUTING.md || { echo "CONTRIBUTING.md does not say $name $version" && status=1; }
    grep -qF "$name $version" README.md || { echo "README.md does not say $name $version" && status=1; }
done < <(sed -nE 's/^ *[a-z0-9]+\) echo ([0-9.]+) ([A-Za-z]+) ;;.*/\1 \2/p' Scripts/setup.sh)
if [ "$count" -ne 5 ]; then
    echo "setup.sh asks for $count versions, five were expected"
    status=1
fi

# Scripts that neither install Python themselves nor do without it.
need_python=$(grep -lE '^[^#]*python3 ' Scripts/*.sh | xargs grep -LE 'setup\.sh .*python|command -v python3')
unprepared=$(awk -v scripts="$need_python" '
    BEGIN { count = split(scripts, script, "\n") }
    /^[a-z0-9-]+:/ { target = $1; ready = 0 }
    /Scripts\/setup\.sh .*python/ { ready = 1 }
    /^\t/ && !ready { for (n = 1; n <= count; n++) if (index($0, script[n])) print "make " target " " script[n] }' Makefile)
if [ -z "$need_python" ] || [ -n "$unprepared" ]; then
    printf 'targets whose scripts need Python, and may not have it:\n%s\n' "${unprepared:-no script needs it}"
    status=1
fi
exit $status
