#!/bin/bash
# host-side
# timeout: 120
# A policy file's rules hold, links and missing paths included; what it asks
# for in vain ends the run; none is taken from the work directory.
. "$(dirname "$0")/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
says() { grep -qF -e "$1" err || { cat err; return 1; }; }
inside() { "$CLOCHE" run --quiet "$@" 2>err; }

mkdir -p work/.git state .config/cloche other
cd work
echo TOKEN >.env
ln -s .env link
cat >../rules.yaml <<'Y'
version: 1
files:
  - {path: ../state, access: rw}
  - {path: ../made, access: rw, missing: make}
  - {path: ../not-there, access: rw, missing: skip}
  - {path: ../state/kept, access: ro}
  - {path: "**/.env", access: hide}
  - {path: .git/hooks, access: ro}
env: [FROM_FILE=yes]
limits: {pids: 40, output: 1k}
Y
echo old >../state/kept
cat >../try.sh <<'SH'
cat .env link
for i in .git/hooks .git/hooks/pre; do mkdir $i; done
echo x >../state/new; echo x >../state/kept; rm -f ../state/kept
echo x >../made/new
echo "env $FROM_FILE"
SH
out=$(inside --policy ../rules.yaml --ro ../try.sh -- sh ../try.sh)
check hidden same "$out" "env yes"
check rw-is-written same "$(cat ../state/new)" x
check rw-made-is-written same "$(cat ../made/new)" x
check ro-below-rw-holds same "$(cat ../state/kept)" old
check missing-ro-is-not-made same "$(ls -A .git)" ""
check refusals-name-file-and-line sh -c '"$0" run --policy ../rules.yaml -- \
	cat .env 2>&1 | grep -q "rule rules.yaml:7"' "$CLOCHE"
check limits-hold sh -c '[ $("$0" run --quiet --policy ../rules.yaml -- \
	head -c 5000 /dev/zero 2>/dev/null | wc -c) -le 1100 ]' "$CLOCHE"
check options-win same "$(inside --policy ../rules.yaml -e FROM_FILE=no -- \
	sh -c 'echo $FROM_FILE')" no
check options-win-before-it same "$(inside -e FROM_FILE=no \
	--policy ../rules.yaml -- sh -c 'echo $FROM_FILE')" no

# ---- whose file is read ----
printf 'version: 1\nenv: [OWN=1]\n' >../.config/cloche/policy.yaml
show() { HOME=$(realpath ..) inside "$@" -- sh -c 'echo "own $OWN"'; }
cp ../.config/cloche/policy.yaml policy.yaml
mkdir -p .config/cloche .cloche
sed s/OWN=1/OWN=theirs/ policy.yaml | tee policy.yaml .cloche.yaml \
	.cloche/policy.yaml .config/cloche/policy.yaml >/dev/null
check own-file-is-read same "$(show)" "own 1"
check none-reads-none same "$(show --policy none)" "own "
check named-file-instead same "$(show --policy ../rules.yaml)" "own "
check xdg-folder same "$(XDG_CONFIG_HOME=/nowhere show)" "own "
chmod 666 ../.config/cloche/policy.yaml
show >/dev/null
check own-file-of-others same $? 125
check own-file-of-others-says says "others may write it"
chmod 600 ../.config/cloche/policy.yaml
echo '{' >../.config/cloche/policy.yaml
show >/dev/null
check bad-own-file-stops same $? 125

# ---- presets ----
rm ../.config/cloche/policy.yaml
agent() { HOME=$(realpath ..) inside --agent "$@"; }
HOME=$(realpath ..) "$CLOCHE" policy show --agent claude >out 2>&1
check preset-is-shown grep -q 'agents/claude.yaml' out
check showing-makes-nothing sh -c '! [ -e ../.claude ]'
agent claude -- sh -c 'echo login >~/.claude/state'
check state-is-kept same "$(cat ../.claude/state)" login
check state-is-seen same "$(agent claude -- sh -c 'cat ~/.claude/state')" login
check key-stays-outside same "$(ANTHROPIC_API_KEY=geheim agent claude -- sh -c \
	'case $ANTHROPIC_API_KEY in "" | *geheim*) echo bad ;; *) echo ok ;; esac')" ok
mkdir -p ../.config/cloche/agents
printf 'version: 1\nenv: [MINE=1]\n' >../.config/cloche/agents/mine.yaml
check own-preset same "$(agent mine -- sh -c 'echo $MINE')" 1
agent none -- true
check no-preset same $? 125
check no-preset-says says 'no such preset'
agent ../policy -- true
check preset-is-a-name same $? 125

# ---- mistakes ----
# bad STATUS-TEXT YAML
bad()
{
	printf 'version: 1\n%s\n' "$2" >../bad.yaml
	inside --policy ../bad.yaml -- touch /tmp/ran
	same $? 125 && says "bad.yaml:$1"
}
check exec-rules bad '2:1: "exec" is not supported' 'exec: []'
check history-rules bad '2:1: "rules" is not supported' 'rules: []'
check unknown-key bad '2:19: one of path' 'files: [{path: a, mode: ro}]'
check bad-host bad "2:11: a b: at character 1" 'network: [{host: "a b"}]'
check loopback-by-address bad '2:11: 127.0.0.1: that is the sandbox' \
	'network: [{host: 127.0.0.1}]'
check bad-size bad '2:18: "lots" is not a size' 'limits: {memory: lots}'
check rw-missing bad '2:9: /not/there: No such file' \
	'files: [{path: /not/there, access: rw}]'
check pattern-for-rw bad '2:9: ~/*.x: a pattern goes with' \
	'files: [{path: "~/*.x", access: rw}]'
inside --policy ../no-such.yaml -- true
check no-such-file same $? 125
inside --policy /dev/full -- true
check not-a-policy same $? 125

# ---- asked without a run ----
cat >../net.yaml <<'Y'
version: 1
network:
  - {host: "*.example.test", ports: [443, 8000-8010]}
  - {host: bad.example.test, action: deny}
  - {host: 10.0.0.0/8, ports: 53, proto: udp}
files: [{path: /srv, access: ro}]
Y
# asked STATUS TEXT WORDS...
asked()
{
	local s=$1 text=$2
	shift 2
	"$CLOCHE" policy check ../net.yaml "$@" >err 2>&1
	same $? "$s" && says "$text"
}
check ask-name asked 0 'rule net.yaml:3' net a.example.test:443
check ask-range asked 0 'rule net.yaml:3' net A.EXAMPLE.TEST.:8005
check ask-port asked 1 'rule default' net a.example.test:80
check ask-last-wins asked 1 'rule net.yaml:4' net bad.example.test:443
check ask-udp asked 0 'rule net.yaml:5' net udp://10.1.2.3:53
check ask-tcp asked 1 'rule default' net 10.1.2.3:53
check ask-own-loopback asked 0 "sandbox's own" net '[::1]:80'
check ask-path asked 1 'rule net.yaml:6' write /srv/x
check ask-nonsense asked 125 'no HOST:PORT' net 0x7f.1:80
cat >../http.yaml <<'Y'
version: 1
network:
  - {host: api.example.test, http: [{method: [GET, HEAD], path: /repos/**}]}
  - {host: open.example.test, ports: [443]}
secrets:
  one: {from: "env:POLICY_TEST_KEY", env: KEY, missing: skip,
        inject: {host: api.example.test, bearer: true}}
Y
# ask_http STATUS TEXT METHOD URL
ask_http()
{
	"$CLOCHE" policy check ../http.yaml http "$3" "$4" >err 2>&1
	same $? "$1" && says "$2"
}
check ask-http ask_http 0 'rule http.yaml:3' GET \
	'https://api.example.test/repos/a/../b?q=1'
check ask-http-path ask_http 1 'rule --http-allow; to allow' GET \
	https://api.example.test/repos/../x
check ask-http-method ask_http 1 'rule --http-allow; to allow' PUT \
	https://api.example.test/repos/a
check ask-http-passes ask_http 0 'rule http.yaml:4' PUT \
	https://open.example.test/x
check ask-http-port ask_http 1 'rule default' PUT http://open.example.test/x
check ask-http-bad ask_http 125 'encoded slash' GET \
	https://api.example.test/a%2fb
secret_env() { inside --policy ../http.yaml -- sh -c 'echo "${KEY:+set}"'; }
check secret-skipped same "$(secret_env)" ""
check secret-placeholder same "$(POLICY_TEST_KEY=geheim secret_env)" set
check secret-is-not-inside same "$(POLICY_TEST_KEY=geheim inside --policy \
	../http.yaml -- sh -c 'env | grep -c geheim')" 0
check show-says-network sh -c '"$0" policy show --policy ../net.yaml |
	grep -qF "deny  bad.example.test  (net.yaml:4)"' "$CLOCHE"
finish
