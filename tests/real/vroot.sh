#!/bin/bash
# host-side
# timeout: 300
# needs: dpkg-deb apt-get useradd adduser tar chroot
# A virtual root does what root does: packages, accounts, owners, a chroot.
. "$(dirname "$0")/../escape/lib.inc"

# ---- a repository of two packages ----
mkdir -p pkg/DEBIAN pkg/usr/share/zz pkg/var/lib/zz dep/DEBIAN repo
cat >dep/DEBIAN/control <<'CTL'
Package: zz-dep
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: what the other needs
CTL
sed 's/zz-dep/zz-test/; /^Arch/aDepends: zz-dep' dep/DEBIAN/control \
	>pkg/DEBIAN/control
cat >pkg/DEBIAN/postinst <<'SH'
#!/bin/sh
set -e
adduser --quiet --system --group --home /var/lib/zz --no-create-home zzsys
chown zzsys:zzsys /var/lib/zz
chmod 2750 /var/lib/zz
update-alternatives --quiet --install /usr/bin/zzalt zzalt /usr/share/zz/a 10
ldconfig
SH
printf '#!/bin/sh\necho alternative\n' >pkg/usr/share/zz/a
chmod 755 pkg/DEBIAN/postinst pkg/usr/share/zz/a
for p in dep pkg; do
	dpkg-deb --root-owner-group -b $p repo >/dev/null || exit 77
done
for f in repo/*.deb; do
	dpkg-deb -f "$f"
	echo "Filename: ./${f#repo/}"
	echo "Size: $(stat -c %s "$f")"
	echo "SHA256: $(sha256sum "$f" | cut -d' ' -f1)"
	echo
done >repo/Packages
chmod -R a+rX repo

cat >packages.sh <<'SH'
set -x
rm -rf /etc/apt/sources.list.d/* /etc/apt/preferences.d/*
echo "deb [trusted=yes] copy:$PWD/repo ./" >/etc/apt/sources.list
export DEBIAN_FRONTEND=noninteractive
apt-get -q update && apt-get -q install -y --no-install-recommends zz-test
apt-get -q remove -y zz-test && dpkg -P zz-test
dpkg -i repo/zz-test_1.0_all.deb
echo "installed $(dpkg-query -W -f '${db:Status-Status}' zz-test)"
echo "owner $(stat -c %U:%G:%a /var/lib/zz)"
zzalt
dpkg --audit; echo "audit $?"
SH

cat >accounts.sh <<'SH'
set -x
groupadd zgroup && useradd -m -s /bin/sh -G zgroup zuser
echo zuser:secret | chpasswd
adduser --quiet --disabled-password --gecos x zother
usermod -aG games zuser
echo "groups $(id -Gn zuser)"
echo "su $(su zuser -c 'id -un; cat /etc/shadow; pwd' 2>/dev/null | xargs)"
echo "runuser $(runuser -u zuser -- id -un)"
echo "home $(stat -c %U:%G ~zuser)"
grep -q '^zuser:\$' /etc/shadow && echo "hashed yes"
userdel -r zuser && groupdel zgroup && ! id zuser && echo "gone yes"
pwck -q -r; grpck -r && echo "grpck yes"
SH

cat >files.sh <<'SH'
set -x
mkdir w && cd w || exit
mkdir t; echo a >t/a; echo b >t/b; chown 5:6 t/a; chown bin:games t/b
chmod 4755 t/b
tar cf t.tar t; mkdir x; tar xf t.tar -C x --same-owner
echo "tar $(cd x/t; stat -c %u:%g:%a a b | xargs)"
cp -a t y; echo "cp $(stat -c %u:%g:%a y/b)"
install -D -o bin -g games -m 2711 t/a /usr/local/sbin/zz
echo "install $(stat -c %U:%G:%a /usr/local/sbin/zz)"
printf 'install:\n\tinstall -D -m 755 t/a $(DESTDIR)/usr/local/bin/zz\n' \
	>Makefile
make -s install; echo "make $(stat -c %a /usr/local/bin/zz)"
mknod null c 1 3; echo gone >null; echo "null $(wc -c <null)"
mkdir -p c/bin; cp "$(command -v bash)" c/bin/sh
for f in $(ldd c/bin/sh | grep -o '/[^ ]*'); do
	mkdir -p "c${f%/*}"; cp "$f" "c$f"
done
echo inside >c/f
echo "chroot $(chroot c /bin/sh -c 'cd ..; read x <f; echo $PWD $x')"
unshare -m true 2>/dev/null || echo "unshare refused"
mount -t tmpfs x /mnt 2>/dev/null || echo "mount refused"
touch /root/z /etc/zz /var/log/zz /usr/lib/zz && echo "touch yes"
ldconfig && ldconfig -p | grep -q libc.so && echo "ldconfig yes"
git init -q g 2>/dev/null && cd g && git status >/dev/null && echo "git yes"
SH

cat >language.sh <<'SH'
set -x
export HOME=/root
mkdir -p n/bin p && cd n || exit
echo '{"name":"zzn","version":"1.0.0","bin":{"zzn":"bin/x.js"}}' >package.json
printf '#!/usr/bin/env node\nconsole.log("node")\n' >bin/x.js
chmod 755 bin/x.js
if command -v npm >/dev/null; then
	npm install -g --offline --no-audit --no-fund --silent .
	echo "npm $(zzn)"
else
	echo "npm node"
fi
SH

# $1 name, $2 script, $3 expected line, in its output
says() { check "$1" grep -qxF -- "$3" "out.$2"; }
# $1 label, $2 scripts, rest: options
run_scripts()
{
	local s names=$2
	l=$1
	shift 2
	for s in $names; do
		"$CLOCHE" run --quiet "$@" --user root -- bash $s.sh \
			>out.$s 2>err.$s </dev/null || :
	done
}

check_most()
{
	says "$l-tar-keeps-owners" files 'tar 5:6:644 2:60:4755'
	says "$l-cp-keeps-owners" files 'cp 2:60:4755'
	says "$l-install-sets-owners" files 'install bin:games:2711'
	says "$l-make-install" files 'make 755'
	says "$l-mknod-null" files 'null 0'
	says "$l-chroot-runs-a-program" files 'chroot / inside'
	says "$l-unshare-is-refused" files 'unshare refused'
	says "$l-mount-is-refused" files 'mount refused'
	says "$l-system-is-writable" files 'touch yes'
	says "$l-ldconfig" files 'ldconfig yes'
	says "$l-own-repository" files 'git yes'
	says "$l-useradd" accounts 'groups zuser games zgroup'
	says "$l-su-drops-rights" accounts "su zuser $PWD"
	says "$l-runuser" accounts 'runuser zuser'
	says "$l-home-is-the-users" accounts 'home zuser:zuser'
	says "$l-chpasswd" accounts 'hashed yes'
	says "$l-userdel" accounts 'gone yes'
	says "$l-grpck" accounts 'grpck yes'
}

check_packages()
{
	says "$l-packages-install" packages 'installed installed'
	says "$l-maintainer-script" packages 'owner zzsys:zzsys:2750'
	says "$l-alternatives" packages 'alternative'
	says "$l-dpkg-is-content" packages 'audit 0'
	says "$l-npm-global" language 'npm node'
}

run_scripts jailed 'files accounts packages language'
check_most
check_packages
[ $failed = 0 ] || tail -n 5 err.* out.* | sed 's/^/# /'
run_scripts bare 'files accounts' --insecure-no-userns
check_most
check host-has-none-of-it sh -c '! id zuser && ! id zzsys &&
	! test -e /etc/zz && ! dpkg-query -W zz-test'
finish
