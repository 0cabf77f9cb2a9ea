#!/bin/bash
# host-side
# timeout: 300
# needs: dpkg-query dpkg-deb apt-get tar perl
# --root: a tree of another system, made here of the files of installed
# packages: shells, dpkg, apt and python in it, as oneself and as its root.
. "$(dirname "$0")/../escape/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

# ---- the tree: packages and what they depend on, as their lists say ----
d=$PWD/../tree
mkdir -p "$d/usr" || exit 77
for l in bin sbin lib lib64; do
	[ -L /$l ] && ln -s "usr/$l" "$d/$l" && mkdir "$d/usr/$l"
done
want="bash coreutils libc-bin diffutils dpkg apt dash grep sed findutils
	perl-base passwd tar login debconf debianutils gpgv util-linux $(
	dpkg-query -W -f '${Package}\n' 'python3.*-minimal' 'libpython3.*-minimal' \
		python3-minimal 2>/dev/null | xargs)"
seen=
while [ -n "$want" ]; do
	seen="$seen $want"
	want=$(dpkg-query -W -f '${Pre-Depends}, ${Depends}, ' $want 2>/dev/null |
		tr , '\n' | sed 's/|.*//; s/[(:].*//; s/ //g' | sort -u |
		grep -vxF "$(tr -s ' \t\n' '\n' <<<"$seen")" | xargs)
done
left='^/usr/share/(doc|man|locale|info|perl|zoneinfo|i18n|bash-completion)/'
left="$left|^/usr/lib/[^/]*/(gconv|systemd)/|^/lib/systemd/|^/usr/lib/systemd/"
dpkg-query -L $seen 2>/dev/null | grep -vE "$left" |
	if [ -L /bin ]; then
		sed -E 's@^/(bin|sbin|lib|lib32|lib64|libx32)(/|$)@/usr/\1\2@'
	else
		cat
	fi | sort -u >list
(cd / && tar -c --no-recursion --ignore-failed-read --verbatim-files-from \
	-T "$OLDPWD/list" 2>/dev/null) | tar -x -C "$d" 2>/dev/null
mkdir -p "$d"/{etc,tmp,root,var/lib/dpkg/updates,var/lib/apt/lists/partial} \
	"$d"/var/{log/apt,cache/apt/archives/partial,lib/dpkg/info} \
	"$d"/{usr/share/zz,etc/apt/apt.conf.d,etc/alternatives,work}
chmod 1777 "$d/tmp"
# what is left out here is not to be missed
dpkg-query -s $seen 2>/dev/null | sed '/^\(Pre-\)\{0,1\}Depends:/d' \
	>"$d/var/lib/dpkg/status"
printf '%s\n' root:x:0:0:root:/root:/bin/bash \
	_apt:x:42:65534::/nonexistent:/usr/sbin/nologin \
	tree:x:1234:1234::/work:/bin/sh \
	nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin >"$d/etc/passwd"
printf '%s\n' root:x:0: tty:x:5: shadow:x:42: tree:x:1234: more:x:77:tree \
	nogroup:x:65534: >"$d/etc/group"
printf 'root:*:1:0:99999:7:::\n' >"$d/etc/shadow"
ln -s /etc/passwd "$d/abs"
ln -s ../../../../../../../../etc/passwd "$d/up"
[ -x "$d/usr/bin/dpkg" ] || { echo "cannot make a tree here"; exit 77; }
py=$(cd "$d" && ls usr/bin/python3* 2>/dev/null | head -1)

# ---- a package ----
mkdir -p pkg/DEBIAN pkg/usr/share/zz
printf '%s\n' 'Package: zz-tree' 'Version: 1' 'Architecture: all' \
	'Maintainer: nobody <nobody@example.org>' 'Description: x' \
	>pkg/DEBIAN/control
printf '#!/bin/sh\necho configured >/usr/share/zz/done\n' >pkg/DEBIAN/postinst
chmod 755 pkg/DEBIAN/postinst
echo file >pkg/usr/share/zz/file
mkdir -p "$d/repo"
dpkg-deb --root-owner-group -b pkg "$d/repo/zz.deb" >/dev/null || exit 77

run() { "$CLOCHE" run --quiet -e LC_ALL=C --root "$d" "$@"; }

check shell same "$(run -- bash -c 'echo $((6 * 7)) "$PWD"')" "42 /"
check system-is-the-trees same "$(run -- sh -c 'cut -d: -f1 /etc/passwd | xargs
	')" "root _apt tree nobody"
check links-stay-inside same "$(run -- sh -c 'head -n1 /abs; head -n1 /up' |
	uniq -c | xargs)" "2 root:x:0:0:root:/root:/bin/bash"
check no-way-out same "$(run -- sh -c 'ls -d /../.. /proc/self/root/work; cd ..
	pwd' | xargs)" "/../.. /proc/self/root/work /"
check host-is-not-there sh -c '! "$1" run -q --root "$2" -- ls "$3"' - \
	"$CLOCHE" "$d" "$PWD"
check proc-and-dev-are-ours same "$(run -- sh -c 'cat /proc/self/comm
	echo x >/dev/null; test -c /dev/urandom; echo $?; ls -d /run /sys' |
	xargs)" "cat 0 /run /sys"
check localhost-has-a-name run -- grep -q localhost /etc/hosts
# as where the host's own resolver writes it
ln -sf ../run/none/stub-resolv.conf "$d/etc/resolv.conf"
check resolver-in-the-place-of-a-dead-link same \
	"$(run --net-allow example.org -- grep -c nameserver /etc/resolv.conf)" 1
check perl same "$(run -- perl -e 'print join ",", map {$_ * 2} 1 .. 3')" 2,4,6
[ -z "$py" ] || check python same \
	"$(run -- "/$py" -c 'import os; print(os.getcwd(), sum(range(5)))')" "/ 10"
check pipes same "$(run -- bash -c 'seq 100 | sort -n | tail -n1')" 100
check user-by-the-trees-name same "$(run --user tree -- sh -c 'id; pwd
	echo $HOME')" "uid=1234(tree) gid=1234(tree) groups=1234(tree),77(more)
/
/work"
check work-directory-where-it-is-bound same \
	"$(run --rw "$PWD" -- sh -c 'pwd; echo y >made'; cat made)" "$PWD
y"
check bound-elsewhere same \
	"$(run --ro "$PWD/pkg:/new/place" -- cat /new/place/usr/share/zz/file)" file

cat >"$d/work/in.sh" <<'SH'
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o Dir::Etc::SourceList=/none install -y /repo/zz.deb \
	>/tmp/log 2>&1 || tail -n 4 /tmp/log
dpkg --configure -a; echo "configure $?"
cat /usr/share/zz/done
stat -c %u:%g /usr/share/zz/file
useradd -r zsys; id -un zsys
setpriv --reuid zsys --clear-groups id -un
SH
for mode in jailed bare; do
	o=()
	[ $mode = bare ] && o=(--insecure-no-userns)
	check $mode-packages-in-it same "$(run "${o[@]}" --user root -- \
		bash /work/in.sh 2>err | xargs)" \
		"configure 0 configured 0:0 zsys zsys"
done
check tree-is-as-it-was sh -c '! test -e "$1/usr/share/zz/done" &&
	! grep -q zsys "$1/etc/passwd"' - "$d"

# ---- trees that are none ----
mkdir -p empty no/bin
cp /bin/ls no/bin/ls
printf '#!/none\n' >no/bin/script
chmod 755 no/bin/script
says()
{
	local n=$1 status=$2 text=$3 got
	shift 3
	"$CLOCHE" run "$@" >out 2>&1
	got=$?
	check "$n" sh -c '[ "$1" = "$2" ] && grep -q "$3" out' - \
		$got "$status" "$text"
}
says empty-tree 127 'tree of --root' --root empty -- sh
says no-dynamic-loader 127 'interpreter' --root no -- ls
says no-interpreter 127 'interpreter' --root no -- /bin/script
says no-tree 125 'No such file' --root nothing -- sh
says a-file-is-no-tree 125 'not a directory' --root check.out -- sh
says unknown-user 125 'no user "nobody2"' --root "$d" --user nobody2 -- sh
[ $failed = 0 ] || sed 's/^/# /' err
finish
