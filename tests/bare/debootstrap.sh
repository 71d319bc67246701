#!/usr/bin/env bash
# Checks that the README's two commands need no preparation: runs them in a new, minimal Debian 12.
#
# usage: tests/bare/debootstrap.sh [COMMAND...]       default: "./dev demo" "./dev test"
#
# Debian is installed in a temporary folder, which is removed at the end. This clone's committed state is copied
# into it, and the machine's apt configuration, so that packages come from the same servers.
# Needs root, debootstrap and packages to download. Without them, it prints that and exits with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
    echo "skipped: a bare Debian needs root and debootstrap"
    exit 77
fi
# In its own namespaces, all mounts and processes end with this script.
if [[ -z ${JOULE_BARE:-} ]]; then
    JOULE_BARE=1 exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi
(($#)) || set -- "./dev demo" "./dev test"

tree=$(mktemp -d)
chmod 755 "$tree" # the root folder of everybody in there
# shellcheck disable=SC2317  # called by the trap
cleanup() {
    umount -R "$tree/proc" "$tree/sys" "$tree/tmp" "$tree/dev/pts" 2>/dev/null || true
    rm -rf --one-file-system "$tree"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

echo "== a minimal Debian 12 in $tree"
if ! debootstrap --variant=minbase bookworm "$tree" >"$tree.log" 2>&1; then
    tail -n 5 "$tree.log"
    echo "skipped: debootstrap could not get its packages"
    rm -f "$tree.log"
    exit 77
fi
rm -f "$tree.log"
mount -t proc proc "$tree/proc"
mount --rbind --make-rslave /sys "$tree/sys"
mount -t tmpfs tmpfs "$tree/tmp"
mount -t devpts devpts "$tree/dev/pts" -o newinstance,ptmxmode=0666
ln -sf pts/ptmx "$tree/dev/ptmx"
cp /etc/resolv.conf /etc/hosts "$tree/etc/"
rm -rf "$tree"/etc/apt/{sources.list,sources.list.d,apt.conf.d,auth.conf.d}
cp -a /etc/apt/{sources.list*,apt.conf.d,auth.conf.d} "$tree/etc/apt/" 2>/dev/null || true
printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d" # packages start no services
chmod +x "$tree/usr/sbin/policy-rc.d"
git clone -q --no-hardlinks . "$tree/root/joule"

status=0
for command; do
    echo "== $command"
    SECONDS=0
    chroot "$tree" env -i HOME=/root TERM="${TERM:-dumb}" PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        bash -c "cd /root/joule && $command" </dev/null || status=1
    echo "== $command: ended after $SECONDS s"
done
exit $status
