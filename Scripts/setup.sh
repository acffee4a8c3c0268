#!/usr/bin/env bash
# Installs what is missing on this machine: the C libraries, a Postgres to start, what the lint needs.
# Quick and silent when everything is there; a Swift or a library that is too old it names.
#
# usage: Scripts/setup.sh [libraries] [postgres] [curl] [python] [shellcheck] [pgbouncer]
#        without arguments: the first three
set -euo pipefail

modules=(sqlite3 libpq libcurl libcrypto yaml-0.1 expat libedit zlib libzstd)

# The oldest version that has what the sources use, and what people call the library.
least() {
    case $1 in
    sqlite3) echo 3.40 SQLite ;;
    libpq) echo 14 libpq ;;         # pipeline mode
    libcurl) echo 7.87 libcurl ;;   # CURLOPT_QUICK_EXIT
    libcrypto) echo 3.0 OpenSSL ;;  # keys made from their parameters
    libzstd) echo 1.4 zstd ;;       # the limit of a window
    *) echo 0 "$1" ;;
    esac
}

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

# A server that can be started, not only a client: where Platform/PostgresServer looks for it.
has_postgres() {
    local folder
    for folder in "$(pg_config --bindir 2>/dev/null || true)" /usr/lib/postgresql/*/bin; do
        if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then return 0; fi
    done
    return 1
}

has_python() {
    python3 -c 'import ensurepip, venv' 2>/dev/null
}

# Complains about what is there and too old.
require_versions() {
    local module version name here old=()
    command -v pkg-config >/dev/null || return 0
    for module in "${modules[@]}"; do
        read -r version name < <(least "$module")
        if ! pkg-config "--atleast-version=$version" "$module" && pkg-config --exists "$module"; then
            here=$(pkg-config --modversion "$module")
            old+=("$name $here is here, $version or newer is needed")
        fi
    done
    if [ ${#old[@]} -gt 0 ]; then
        fail "${old[@]}" 'Debian 12 and newer and Ubuntu 24.04 and newer have all of them; Ubuntu 22.04 is too old.'
    fi
}

require_swift() {
    local here
    command -v swift >/dev/null || fail "swift is not in PATH: install Swift 6.3 or newer (https://swift.org/install)"
    here=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
    case $here in
    [0-5].* | 6.[0-2]) fail "Swift $here is here, 6.3 or newer is needed (https://swift.org/install)" ;;
    esac
}

# Prints the missing needs of the groups, one a line.
missing_on_linux() {
    local group module
    for group in "$@"; do
        case $group in
        libraries)
            if ! command -v pkg-config >/dev/null; then
                echo pkg-config
                printf '%s\n' "${modules[@]}"
                continue
            fi
            for module in "${modules[@]}"; do
                pkg-config --exists "$module" || echo "$module"
            done
            ;;
        postgres)
            has_postgres || echo postgres
            # Tests make certificates with it.
            command -v openssl >/dev/null || echo openssl
            ;;
        curl) command -v curl >/dev/null || echo curl ;;
        python) has_python || echo python ;;
        shellcheck) command -v shellcheck >/dev/null || echo shellcheck ;;
        # A peer of tests, which start one of their own; Debian has it where not everybody looks.
        pgbouncer) command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ] || echo pgbouncer ;;
        *) fail "unknown group $group: libraries, postgres, curl, python, shellcheck or pgbouncer" ;;
        esac
    done
}

install_with_apt() {
    local as_root=() need packages=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "run as root, or install sudo; needed: $*"
        as_root=(sudo)
    fi
    local -A debian=(
        [pkg-config]=pkg-config [sqlite3]=libsqlite3-dev [libpq]=libpq-dev [libcurl]=libcurl4-openssl-dev
        [libcrypto]=libssl-dev [yaml-0.1]=libyaml-dev [expat]=libexpat1-dev [libedit]=libedit-dev
        [zlib]=zlib1g-dev [libzstd]=libzstd-dev
        [postgres]=postgresql [openssl]=openssl [curl]=curl [python]=python3-venv [shellcheck]=shellcheck
        [pgbouncer]=pgbouncer
    )
    for need in "$@"; do packages+=("${debian[$need]}"); done
    echo "setup: installing ${packages[*]}" >&2
    local log settings=
    log=$(mktemp)
    # A server of the distribution's own is not wanted, and is not made if this stands there first. It goes again, because
    # a Postgres that somebody installs later is to have one.
    if [[ " $* " == *" postgres "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        settings=/etc/postgresql-common/createcluster.d/no-main-cluster.conf
        "${as_root[@]}" mkdir -p "${settings%/*}"
        echo 'create_main_cluster = false' | "${as_root[@]}" tee "$settings" >/dev/null
    fi
    # shellcheck disable=SC2064 # the names are meant as they are now
    trap "${as_root[*]} rm -f '$log' ${settings:+'$settings'}" EXIT
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet -o DPkg::Lock::Timeout=300)
    # A list of somebody else's that cannot be fetched does not matter if the packages can be installed.
    "${apt[@]}" update >"$log" 2>&1 </dev/null || echo "setup: apt-get update failed; trying to go on" >&2
    if ! "${apt[@]}" install --yes --no-install-recommends "${packages[@]}" >>"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        fail "apt-get could not install ${packages[*]}"
    fi
}

on_linux() {
    local missing list wants_libraries=false
    if [[ " $* " == *" libraries "* ]]; then wants_libraries=true; fi
    if $wants_libraries; then require_versions; fi
    list=$(missing_on_linux "$@")
    read -ra missing <<<"${list//$'\n'/ }"
    if [ "${#missing[@]}" -eq 0 ]; then return; fi
    command -v apt-get >/dev/null || fail "install these with the package manager of this system: ${missing[*]}"
    install_with_apt "${missing[@]}"
    if $wants_libraries; then require_versions; fi
    list=$(missing_on_linux "$@")
    read -ra missing <<<"${list//$'\n'/ }"
    if [ "${#missing[@]}" -gt 0 ]; then fail "still missing after the installation: ${missing[*]}"; fi
}

on_macos() {
    local group formula wanted="" lacking=""
    for group in "$@"; do
        case $group in
        libraries) wanted="$wanted pkgconf sqlite libpq curl openssl@3 libyaml expat libedit zlib zstd" ;;
        postgres) wanted="$wanted postgresql@17" ;;
        curl) ;; # part of macOS
        python) wanted="$wanted python@3.13" ;;
        shellcheck) wanted="$wanted shellcheck" ;;
        pgbouncer) wanted="$wanted pgbouncer" ;;
        *) fail "unknown group $group: libraries, postgres, curl, python, shellcheck or pgbouncer" ;;
        esac
    done
    command -v brew >/dev/null || fail "install Homebrew (https://brew.sh), then: brew install$wanted"
    for formula in $wanted; do
        brew list --versions "$formula" >/dev/null 2>&1 || lacking="$lacking $formula"
    done
    if [ -n "$lacking" ]; then fail "run this first: brew install$lacking"; fi
}

if [ $# -eq 0 ]; then set -- libraries postgres curl; fi
require_swift
case $(uname -s) in
Darwin) on_macos "$@" ;;
*) on_linux "$@" ;;
esac
