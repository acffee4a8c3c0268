#!/usr/bin/env bash
# Runs a command in a fresh clone of this repository on a bare Debian, to prove that nothing of this machine is needed.
#
# usage: sudo Scripts/bare-debian.sh [--user] TOOLCHAIN [COMMAND...]
#   TOOLCHAIN   folder of a Swift toolchain, the one with bin/swift in it; mounted read-only at the same place
#   COMMAND     make test, unless said otherwise
#   --user      as a user who may use sudo; otherwise as root
#
#   sudo Scripts/bare-debian.sh /usr/local/swift/usr make demo
#   sudo Scripts/bare-debian.sh --user /usr/local/swift/usr .ci/run
#
# environment: DEBIAN_SUITE (bookworm), DEBIAN_MIRROR, TMPDIR (a few GB; /var/tmp),
#   BASE_TARBALL (.build/bare-debian-SUITE.tar: the system before anything is installed for this project, kept)
#
# Needs root and debootstrap. What is committed is cloned, nothing else. All processes and mounts live in namespaces
# of their own and go with them; a process that the command leaves behind fails the run.
set -euo pipefail

suite=${DEBIAN_SUITE:-bookworm}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
# What a Debian needs for Swift, and what `make` assumes: git, make, sudo and a C compiler.
packages=(ca-certificates git g++ gcc libcurl4 libncurses6 libsqlite3-0 libxml2 make sudo tzdata)

fail() {
    echo "bare-debian: $*" >&2
    exit 1
}

# Mounts what a system has under the root; all of it vanishes with the namespace.
mount_system() {
    local root=$1 node
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755,size=16m devices "$root/dev"
    for node in null zero full random urandom tty; do
        touch "$root/dev/$node"
        mount --bind "/dev/$node" "$root/dev/$node"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/0 "$root/dev/stdin"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    mkdir "$root/dev/shm" "$root/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
}

# Runs with the environment of a fresh login, proxies excepted.
in_root() {
    local root=$1 account=$2 home=/root keep=() variable as=()
    shift 2
    if [ "$account" != root ]; then
        home=/home/$account
        as=(setpriv --reuid "$account" --regid "$account" --init-groups)
    fi
    for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        if [ -n "${!variable:-}" ]; then keep+=("$variable=${!variable}"); fi
    done
    chroot "$root" env -i HOME="$home" USER="$account" LOGNAME="$account" LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        PATH="$swift_path/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "${keep[@]}" \
        "${as[@]}" "$@"
}

# Settings of this machine without which nothing can be fetched: proxies of apt, certificates of its owner.
take_over_network() {
    local root=$1
    cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
    printf '127.0.0.1 localhost %s\n::1 localhost\n' "$(uname -n)" >"$root/etc/hosts"
    apt-config dump Acquire | grep -E 'Proxy|proxy|Check-' >"$root/etc/apt/apt.conf.d/99-of-this-machine" || true
    if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
        mkdir -p "$root/usr/local/share/ca-certificates"
        cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    fi
}

# Inside the namespaces, with which a mount goes that an interrupted debootstrap leaves.
bootstrap() {
    debootstrap --variant=minbase "$suite" "$1" "$mirror"
}

# Inside the namespaces: the base system, once.
make_base() {
    local root=$1
    swift_path=
    take_over_network "$root"
    mount_system "$root"
    in_root "$root" root apt-get --quiet update
    in_root "$root" root env DEBIAN_FRONTEND=noninteractive \
        apt-get --quiet install --yes --no-install-recommends "${packages[@]}"
    in_root "$root" root apt-get clean
}

# Inside the namespaces: the command. Ours is the first process of the namespace, so all others are its children.
run_command() {
    local root=$1 toolchain=$2 account=$3 status=0 home process line left=()
    shift 3
    swift_path=$toolchain/bin:
    take_over_network "$root"
    mount_system "$root"
    mkdir -p "$root$toolchain"
    mount --bind "$toolchain" "$root$toolchain"
    mount -o remount,bind,ro "$root$toolchain"
    in_root "$root" root update-ca-certificates >/dev/null 2>&1
    home=/root
    if [ "$account" != root ]; then
        home=/home/$account
        in_root "$root" root useradd --create-home --shell /bin/bash "$account"
        printf '%s ALL=(ALL) NOPASSWD: ALL\n' "$account" >"$root/etc/sudoers.d/$account"
        in_root "$root" root chown -R "$account:$account" /source
    fi
    mv "$root/source" "$root$home/powersync"
    in_root "$root" "$account" bash -c 'cd ~/powersync && exec "$@" </dev/null' bash "$@" || status=$?
    # A private Postgres, and the folder of all its databases, may need a moment after their owner.
    for _ in {1..600}; do
        left=()
        for process in "$root"/proc/[0-9]*; do
            if [ "${process##*/}" = 1 ]; then continue; fi
            # Empty for what has ended meanwhile.
            line=$(tr '\0' ' ' <"$process/cmdline" || true)
            if [ -n "$line" ]; then left+=("$line"); fi
        done 2>/dev/null
        if [ ${#left[@]} -eq 0 ]; then break; fi
        sleep 0.1
    done
    if [ ${#left[@]} -gt 0 ]; then
        printf 'bare-debian: left behind: %s\n' "${left[@]}" >&2
        status=70
    fi
    return "$status"
}

if [ "${1:-}" = --in-namespace ]; then
    step=$2
    shift 2
    "$step" "$@"
    exit
fi

account=root
if [ "${1:-}" = --user ]; then
    account=builder
    shift
fi
[ $# -ge 1 ] || fail 'usage: sudo Scripts/bare-debian.sh [--user] TOOLCHAIN [COMMAND...]'
toolchain=$(realpath "$1")
shift
if [ $# -eq 0 ]; then set -- make test; fi
[ -x "$toolchain/bin/swift" ] || fail "$toolchain/bin/swift is no program"
[ "$(id -u)" -eq 0 ] || fail 'needs root'
command -v debootstrap >/dev/null || fail 'needs debootstrap: apt-get install debootstrap'

repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
base=${BASE_TARBALL:-$repository/.build/bare-debian-$suite.tar}
self=$(realpath "$0")
root=$(mktemp -d "${TMPDIR:-/var/tmp}/bare-debian.XXXXXXXX")
chmod 755 "$root"
trap 'rm -rf --one-file-system "$root" "$root.log" "$base.$$"' EXIT

# A process namespace ends with its first process, and a mount namespace with the last of them. As a job of its own it
# has signals as after a login (a plain background process ignores SIGINT), and this script can end it.
child=
in_namespace() {
    local status=0
    set -m
    unshare --mount --pid --fork --kill-child -- "$self" --in-namespace "$@" </dev/null &
    child=$!
    set +m
    wait "$child" || status=$?
    child=
    return "$status"
}
interrupted() {
    if [ -n "$child" ]; then
        kill "$child" 2>/dev/null || true
        wait "$child" || true
    fi
    exit 130
}
trap interrupted INT TERM HUP

if [ ! -e "$base" ]; then
    echo "bare-debian: making $base" >&2
    mkdir -p "$(dirname "$base")"
    in_namespace bootstrap "$root" >"$root.log" 2>&1 || {
        tail -n 20 "$root.log" >&2
        fail 'debootstrap failed'
    }
    in_namespace make_base "$root" >&2
    tar --create --file "$base.$$" --directory "$root" .
    mv "$base.$$" "$base"
else
    tar --extract --file "$base" --directory "$root"
fi

git clone --quiet --no-hardlinks "$repository" "$root/source"
started=$SECONDS
status=0
in_namespace run_command "$root" "$toolchain" "$account" "$@" || status=$?
echo "bare-debian: $* as $account ended with status $status after $((SECONDS - started)) s" >&2
exit $status
