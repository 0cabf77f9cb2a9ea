# host-side
# needs: python3
# timeout: 120
# `cloche bench`: its JSON and its page are whole, and its mistakes are told.
. "$(dirname "$0")/../escape/lib.inc"
mkdir proj && cd proj || exit 1
c() { timeout -s KILL 60 "$CLOCHE" "$@"; }
status() { "$@" >/dev/null 2>&1; echo $?; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
has() { case $1 in *"$2"*) ;; *) echo "no '$2' in '$1'"; return 1 ;; esac; }

c bench --ms 2 --rounds 1 --only notify,jump,cloche --json --html page.html \
	>out.json 2>err
check mechanisms-as-json python3 -c '
import json
r = json.load(open("out.json"))
m = {x["name"]: x for x in r["mechanisms"]}
assert set(m) == {"native", "notify", "jump", "cloche"}, m.keys()
for name in m:
	assert "missing" not in m[name], m[name]
for op in "call", "stat":
	for name in m:
		c = m[name]["calls"][op]
		assert 0 < c["min"] <= c["median"], (name, op, c)
assert m["cloche"]["calls"]["open"]["min"] > m["native"]["calls"]["open"]["min"]
assert m["jump"]["calls"]["call"]["min"] < m["native"]["calls"]["call"]["min"]
assert [n for n, _ in m["notify"]["threads"]] == [1, 2, 4, 8, 16]
'
check page-is-whole-and-alone python3 -c '
import html.parser
t = open("page.html").read()
void = {"meta", "line", "rect", "circle", "polyline"}
class P(html.parser.HTMLParser):
	n = 0
	def handle_starttag(self, tag, attrs):
		self.n += tag == "svg"
		assert tag not in ("script", "img", "link", "iframe"), tag
		for k, v in attrs:
			assert k not in ("src", "href"), (k, v)
p = P()
p.feed(t)
assert p.n >= 6, p.n
assert t.count("<svg") == t.count("</svg>")
assert "nan" not in t and "inf" not in t.replace("infinite", ""), "figures"
'
check nothing-on-stderr same "$(cat err)" ''

c bench --runs 2 --peers none --json --prepare 'echo x >>prepared' -- \
	sh -c 'cat /etc/hostname; ls / >/dev/null; echo y >new' >own.json
check own-command-as-json python3 -c '
import json
c = json.load(open("own.json"))["command"]
s = {x["name"]: x for x in c["sides"]}
assert set(s) == {"native", "cloche"}, s.keys()
assert "left_out" not in s["cloche"], s
r = s["cloche"]["ratio"]
assert 0 < r["low"] <= r["median"] <= r["high"], r
assert s["cloche"]["peak_kib"] > 0
calls = {x["call"]: x["count"] for x in c["calls"]}
assert calls["execve"] >= 1 or calls["exec"] >= 2, calls
assert calls["openat"] >= 3, calls
assert c["where"]["sentry"] > 0 and c["where"]["exec"] > 0, c["where"]
'
check prepare-ran-before-each sh -c '[ $(wc -l <prepared) -ge 8 ]'
check table-names-the-sides has \
	"$(c bench --runs 1 --peers none -- true)" 'cloche'
check failing-command-is-measured has \
	"$(c bench --runs 1 --peers none -- false 2>&1)" 'status is 1'
check no-such-command same "$(status c bench --runs 1 -- /nosuch)" 125
check no-such-mechanism has "$(c bench --only nosuch 2>&1)" 'no mechanism nosuch'
check no-such-peer has "$(c bench --peers bwrap,nosuch -- true 2>&1)" \
	'no peer "nosuch"'
check page-is-tried-first has "$(timeout 5 "$CLOCHE" bench --html /nosuch/x 2>&1)" \
	'make its directory first'
check prepare-fails same \
	"$(status c bench --runs 1 --prepare false -- true)" 125
check options-of-the-other same "$(status c bench --growth -- true)" 125
check too-many-runs same "$(status c bench --runs 99999 -- true)" 125
check page-cannot-be-written same \
	"$(status c bench --ms 1 --rounds 1 --only native --html /nosuch/x)" 125
check list has "$(c bench --list)" 'ptrace-sysemu'
