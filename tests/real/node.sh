# needs: node npm
# timeout: 180
# Case 40 and node's own: children, threads, watchers, modules, npm.
set -u
export npm_config_update_notifier=false npm_config_cache=$PWD/.npm
mkdir -p n/lib && cd n || exit 1
for i in $(seq 200); do
	if [ "$i" -lt 200 ]; then
		echo "module.exports = $i + require('./m$((i + 1))');"
	else
		echo "module.exports = $i;"
	fi >lib/m$i.js
done
node -e 'console.log(require("./lib/m1"))'
cat >cp.js <<'X'
const cp = require("child_process"), fs = require("fs"), os = require("os");
console.log(cp.execSync("echo sync").toString().trim());
console.log(cp.spawnSync("sh", ["-c", "cat; exit 4"], {input: "in"}).status);
cp.exec("exit 7", e => { console.log("code", e.code);
  const c = cp.fork(__filename, ["child"]);
  c.on("message", m => { console.log("from child", m); c.send("bye"); });
  c.on("exit", k => console.log("exit", k)); });
X
sed -i '1i if (process.argv[2] === "child") { process.send("hi"); process.on("message", m => process.exit(9)); return; }' cp.js
node cp.js
cat >wt.js <<'X'
const {Worker, isMainThread, parentPort, workerData} = require("worker_threads");
if (isMainThread) {
  const b = new SharedArrayBuffer(8), a = new Int32Array(b); let left = 4;
  for (let i = 0; i < 4; i++) new Worker(__filename, {workerData: b}).on("exit",
    () => { if (--left === 0) console.log("sum", a[0]); });
} else { const a = new Int32Array(workerData); for (let i = 0; i < 1000; i++) Atomics.add(a, 0, 1); }
X
node wt.js
cat >watch.js <<'X'
const fs = require("fs"), cp = require("child_process");
fs.mkdirSync("wd"); const seen = new Set();
const w = fs.watch("wd", (ev, name) => { seen.add(ev + " " + name);
  if (name === "last") { w.close(); for (const s of [...seen].sort()) console.log(s); } });
setTimeout(() => { cp.exec("cd wd; echo a >one; mv one two; echo b >>two; rm two; sleep 0.2; echo >last"); }, 100);
X
node watch.js | grep -v 'change last'
cat >many.js <<'X'
const fs = require("fs"); fs.mkdirSync("many"); let n = 0;
const w = fs.watch("many", (ev, name) => { n++; if (name === "end") { w.close(); console.log(n > 2000); } });
const cp = require("child_process");
setTimeout(() => cp.spawn("sh", ["-c", "cd many; i=0; while [ $i -lt 2000 ]; do : >f; rm f; i=$((i+1)); done; : >end"]), 100);
X
node many.js
cat >fsx.js <<'X'
const fs = require("fs"), p = require("path");
fs.mkdirSync("a/b/c", {recursive: true}); fs.writeFileSync("a/b/c/f", "x".repeat(100000));
fs.cpSync("a", "z", {recursive: true}); console.log(fs.readdirSync("z", {recursive: true}).sort());
console.log(fs.statSync("z/b/c/f").size, fs.existsSync("none"));
try { fs.readFileSync("none") } catch (e) { console.log(e.code) }
try { fs.mkdirSync("a") } catch (e) { console.log(e.code) }
fs.symlinkSync("a", "s"); console.log(fs.realpathSync("s/b").endsWith("a/b"), fs.lstatSync("s").isSymbolicLink());
fs.rmSync("z", {recursive: true}); fs.appendFileSync("log", "1"); fs.appendFileSync("log", "2");
console.log(fs.readFileSync("log", "utf8")); fs.utimesSync("log", 1, 2); console.log(fs.statSync("log").mtimeMs);
const s = fs.createReadStream("a/b/c/f"); let n = 0; s.on("data", d => n += d.length).on("end", () => console.log(n));
const net = require("net"), srv = net.createServer(c => c.end("bye")).listen("sock", () =>
  net.connect("sock").on("data", d => console.log(d.toString())).on("end", () => srv.close()));
const h = require("http").createServer((q, r) => r.end("web")).listen(0, "127.0.0.1", () =>
  require("http").get({port: h.address().port, host: "127.0.0.1"}, r => r.on("data", d => console.log(d.toString())).on("end", () => h.close())));
X
node fsx.js | sort
echo '{"name":"t","version":"1.0.0","scripts":{"pretest":"echo pre","test":"node -p 6*7","fail":"exit 3"}}' >package.json
npm run -s test; npm run -s fail; echo $?
npm ls 2>&1 | sed 's/ .*//' | head -1
echo 'process.stdin.on("data", d => process.stdout.write(d.toString().toUpperCase()))' >up.js
echo piped | node up.js; node -e 'process.stdout.write("no newline")'; echo
node -e 'setTimeout(()=>{}, 1e6); process.kill(process.pid, "SIGTERM")'; echo $?
