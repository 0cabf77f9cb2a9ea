"""The workload suite of bench/run: what people wait for.

Each is made by a function that gets the Bench and returns a Workload: its
command, what undoes a native run, and the ratio that it is held against.
Inside nothing needs to be undone. A RuntimeError leaves a workload out, by
name.
"""
import http.server
import io
import json
import os
import shutil
import tarfile
import threading
import zipfile

LIMIT = 2.5          # inside / native, of any workload
METADATA_LIMIT = 3.5  # of pure walks over metadata
GEOMEAN_LIMIT = 1.4


class Workload:
    def __init__(self, argv, clean=None, limit=LIMIT, inside=None, options=(),
                 close=None):
        self.argv = argv
        self.inside = inside or argv  # where names differ inside
        self.options = list(options)  # of cloche run
        self.clean = clean
        self.limit = limit
        self.close = close


def program(name, path):
    found = shutil.which(name, path=path)
    if not found:
        raise RuntimeError(f"{name} is not installed")
    return found


def tree(b, name, files):
    """A folder of that many small files, 50 to a directory; made once."""
    top = os.path.join(b.dir, name)
    if os.path.isdir(top):
        return top
    for i in range(files):
        d = os.path.join(top, f"d{i // 50:03d}")
        if i % 50 == 0:
            os.makedirs(d)
        with open(os.path.join(d, f"f{i:05d}.txt"), "w") as f:
            f.write(f"file {i}\n" * 20)
    return top


def script(b, name, text):
    path = os.path.join(b.dir, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def emptied(path):
    def clean():
        shutil.rmtree(path)
        os.makedirs(path)
    os.makedirs(path)
    return clean


def cold_start(b):
    return Workload(["/bin/true"], limit=None)


def python_imports(b):
    return Workload(["/usr/bin/python3", "-c",
                     "import json, asyncio, http.client, xml.dom.minidom, "
                     "sqlite3, unittest, multiprocessing, ssl, "
                     "email.mime.text, ctypes, decimal, urllib.request, "
                     "logging.config, argparse, concurrent.futures, tarfile, "
                     "zipfile, csv, difflib, pydoc"])


def node_require(b):
    node = program("node", b.path)
    top = os.path.join(b.dir, "node")
    for i in range(200):
        d = os.path.join(top, "node_modules", f"m{i}")
        os.makedirs(d)
        with open(os.path.join(d, "package.json"), "w") as f:
            json.dump({"name": f"m{i}", "main": "lib.js"}, f)
        with open(os.path.join(d, "lib.js"), "w") as f:
            f.write(f"exports.n = {i};\n")
    main = script(b, "node/main.js",
                  "let n = 0;\nfor (let i = 0; i < 200; i++)\n"
                  "\tn += require('m' + i).n;\n"
                  "process.exit(n === 19900 ? 0 : 1);\n")
    return Workload([node, main])


def git_status(b):
    top = tree(b, "repo", 5000)
    git = ["git", "-C", top]
    b.run(git + ["init", "-q"])
    b.run(git + ["add", "."])
    b.run(git + ["-c", "user.name=b", "-c", "user.email=b@example.org",
                 "commit", "-qm", "files"])
    b.run(git + ["status"])
    return Workload(["/usr/bin/git", "-C", top, "status", "--porcelain"],
                    limit=METADATA_LIMIT)


def git_add(b):
    top = tree(b, "added", 5000)

    def clean():
        shutil.rmtree(os.path.join(top, ".git"))
        b.run(["git", "-C", top, "init", "-q"])
    b.run(["git", "-C", top, "init", "-q"])
    return Workload(["/usr/bin/git", "-C", top, "add", "."], clean)


def compile_j2(b):
    program("make", b.path)
    top = os.path.join(b.dir, "compile")
    os.makedirs(top)
    objs = []
    for i in range(30):
        script(b, f"compile/m{i}.c",
               "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
               f"#include <unistd.h>\nint f{i}(int x);\nint f{i}(int x)\n{{\n"
               f"\tchar b[64];\n\tsnprintf(b, 64, \"%d\", x);\n"
               f"\treturn atoi(b) + {i};\n}}\n")
        objs.append(f"m{i}.o")
    script(b, "compile/main.c",
           "int f0(int x);\nint main(void) { return f0(0); }\n")
    script(b, "compile/Makefile",
           "CFLAGS = -O1\nprog: main.o " + " ".join(objs) +
           "\n\tcc -o $@ $^\nclean:\n\trm -f prog *.o\n")
    return Workload(["/usr/bin/make", "-s", "-j2", "-C", top],
                    lambda: b.run(["make", "-s", "-C", top, "clean"]))


def tar_x(b):
    top = tree(b, "tarred", 5000)
    tar = os.path.join(b.dir, "files.tar")
    b.run(["tar", "cf", tar, "-C", b.dir, "tarred"])
    shutil.rmtree(top)
    out = os.path.join(b.dir, "out")
    return Workload(["/usr/bin/tar", "xf", tar, "-C", out], emptied(out))


def wheel_unpack(b):
    wheel = os.path.join(b.dir, "pkg-1-py3-none-any.whl")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as z:
        for i in range(1500):
            z.writestr(f"pkg/d{i // 50}/m{i}.py", f"n = {i}\n" * 60)
    out = os.path.join(b.dir, "site")
    return Workload(["/usr/bin/python3", "-m", "zipfile", "-e", wheel, out],
                    emptied(out))


def npm_install(b):
    """80 packages from a registry that this process serves on loopback."""
    npm = program("npm", b.path)
    tarballs = {}
    names = [f"bench-pkg-{i}" for i in range(80)]
    for n in names:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as t:
            files = {"package/package.json": json.dumps(
                {"name": n, "version": "1.0.0", "main": "index.js"})}
            files |= {f"package/lib/m{k}.js": f"exports.n = {k};\n" * 40
                      for k in range(12)}
            for path, text in files.items():
                info = tarfile.TarInfo(path)
                info.size = len(text)
                t.addfile(info, io.BytesIO(text.encode()))
        tarballs[n] = data.getvalue()

    class Registry(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            name = self.path.strip("/").split("/")[0]
            if name not in tarballs:
                self.send_error(404)
                return
            if self.path.endswith(".tgz"):
                body = tarballs[name]
            else:
                url = (f"http://{self.headers['Host']}/{name}/-/"
                       f"{name}-1.0.0.tgz")
                body = json.dumps({
                    "name": name, "dist-tags": {"latest": "1.0.0"},
                    "versions": {"1.0.0": {
                        "name": name, "version": "1.0.0",
                        "dist": {"tarball": url}}}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    top = os.path.join(b.dir, "npm")
    os.makedirs(top)
    with open(os.path.join(top, "package.json"), "w") as f:
        json.dump({"name": "bench", "version": "1.0.0",
                   "dependencies": {n: "1.0.0" for n in names}}, f)

    def argv(host):
        cache = os.path.join(b.dir, "npm-cache")
        return [npm, "--prefix", top, "install", "--no-audit", "--no-fund",
                "--no-package-lock", "--silent", "--cache", cache,
                "--registry", f"http://{host}:{port}/"]

    def clean():
        for d in ("npm/node_modules", "npm-cache"):
            shutil.rmtree(os.path.join(b.dir, d), ignore_errors=True)

    def close():
        server.shutdown()
        server.server_close()

    return Workload(argv("127.0.0.1"), clean, inside=argv("host.internal"),
                    options=["--net-allow", f"host.internal:{port}"],
                    close=close)


def sqlite_inserts(b):
    db = os.path.join(b.dir, "bench.db")
    main = script(b, "inserts.py", f"""
import sqlite3
c = sqlite3.connect({db!r})
c.execute("create table if not exists t (a integer, b text)")
for i in range(200):
    with c:
        for k in range(50):
            c.execute("insert into t values (?, ?)", (k, "x" * 50))
assert c.execute("select count(*) from t").fetchone()[0] % 10000 == 0
""")

    def clean():
        os.unlink(db)
    return Workload(["/usr/bin/python3", main], clean)


def grep_r(b):
    return Workload(["/bin/grep", "-rc", "file 4999", tree(b, "searched",
                                                            5000)],
                    limit=METADATA_LIMIT)


def find(b):
    return Workload(["/usr/bin/find", tree(b, "searched", 5000), "-name",
                     "*7.txt", "-size", "+0"], limit=METADATA_LIMIT)


def web_server(b):
    return Workload(["/usr/bin/python3", script(b, "web.py", """
import http.client, http.server, threading
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "4096")
        self.end_headers()
        self.wfile.write(b"x" * 4096)
    def log_message(self, *a):
        pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
def load():
    c = http.client.HTTPConnection("127.0.0.1", s.server_address[1])
    for _ in range(250):
        c.request("GET", "/")
        assert len(c.getresponse().read()) == 4096
t = [threading.Thread(target=load) for _ in range(4)]
[x.start() for x in t]
[x.join() for x in t]
""")])


def exec_storm(b):
    return Workload(["/bin/sh", script(b, "execs.sh", "i=0\n"
                     "while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done\n")])


def fork_storm(b):
    return Workload(["/usr/bin/python3", script(b, "forks.py", """
import os
for _ in range(500):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
""")])


def thread_storm(b):
    return Workload(["/usr/bin/python3", script(b, "threads.py", """
import threading
for _ in range(150):
    t = [threading.Thread(target=int) for _ in range(10)]
    [x.start() for x in t]
    [x.join() for x in t]
""")])


def signal_storm(b):
    return Workload(["/usr/bin/python3", script(b, "signals.py", """
import os, signal
n = 0
def on(*a):
    global n
    n += 1
signal.signal(signal.SIGUSR1, on)
for _ in range(10000):
    os.kill(os.getpid(), signal.SIGUSR1)
assert n > 0
""")])


ALL = [
    ("cold-start", cold_start),
    ("python-imports", python_imports),
    ("node-require-200", node_require),
    ("git-status-5000", git_status),
    ("git-add-5000", git_add),
    ("compile-30-j2", compile_j2),
    ("tar-x-5000", tar_x),
    ("wheel-unpack-1500", wheel_unpack),
    ("npm-install-80", npm_install),
    ("sqlite-200x50", sqlite_inserts),
    ("grep-r-5000", grep_r),
    ("find-5000", find),
    ("web-server-1000", web_server),
    ("exec-storm-300", exec_storm),
    ("fork-storm-500", fork_storm),
    ("thread-storm-1500", thread_storm),
    ("signal-storm-10000", signal_storm),
]
