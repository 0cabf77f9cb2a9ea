# needs: python3
# timeout: 180
# modes: bare
# Cases 12, 13, 30: python3 and its processes.
set -u
P=/usr/bin/python3
$P -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'
. v/bin/activate; python -c 'import os, sys; print(os.path.basename(sys.prefix))'
deactivate
$P -c 'import threading;threading.Thread(target=print,args=("ok",)).start()'
cat >mp.py <<'X'
import multiprocessing as mp, os
from multiprocessing import shared_memory
def sq(x): return x * x
def put(q, n): q.put(n)
def add(v, l):
    for _ in range(500):
        with l: v.value += 1
def fill(name):
    s = shared_memory.SharedMemory(name); s.buf[0] = 42; s.close()
if __name__ == "__main__":
    with mp.Pool(4) as p: print(sum(p.map(sq, range(200))))
    q = mp.Queue(); ps = [mp.Process(target=put, args=(q, i)) for i in range(6)]
    [p.start() for p in ps]; print(sorted(q.get() for _ in ps)); [p.join() for p in ps]
    v = mp.Value("i", 0); l = mp.Lock()
    ps = [mp.Process(target=add, args=(v, l)) for _ in range(4)]
    [p.start() for p in ps]; [p.join() for p in ps]; print(v.value)
    s = shared_memory.SharedMemory(create=True, size=4096)
    p = mp.Process(target=fill, args=(s.name,)); p.start(); p.join()
    print(s.buf[0]); s.close(); s.unlink()
    for m in ("spawn", "forkserver"):
        c = mp.get_context(m); p = c.Process(target=print, args=(m,)); p.start(); p.join()
    with mp.Manager() as m:
        d = m.dict(); d["a"] = 1; print(dict(d))
    print(mp.Semaphore(2).acquire())
X
$P mp.py
cat >misc.py <<'X'
import subprocess, tempfile, os, shutil, sqlite3, json, zipfile, glob
import socket, socketserver, threading, http.server, urllib.request, signal, stat, fcntl
print(subprocess.run(["sh", "-c", "cat; exit 3"], input=b"in", capture_output=True))
print(subprocess.check_output(["echo", "x"], text=True, close_fds=True).strip())
with tempfile.TemporaryDirectory() as t:
    shutil.copytree("/usr/lib/python3/dist-packages" if 0 else "v", t + "/c", symlinks=True)
    print(len(os.listdir(t + "/c")) > 2)
    c = sqlite3.connect(t + "/db"); c.execute("create table t(a)")
    c.executemany("insert into t values(?)", [(i,) for i in range(1000)]); c.commit()
    print(c.execute("select sum(a) from t").fetchone(), c.execute("pragma integrity_check").fetchone())
    with zipfile.ZipFile(t + "/z.zip", "w") as z: z.write("mp.py")
    print(zipfile.ZipFile(t + "/z.zip").namelist())
with open("lk", "w") as f: fcntl.lockf(f, fcntl.LOCK_EX); print("locked")
print(stat.filemode(os.stat("lk").st_mode), sorted(glob.glob("m*.py")))
a, b = socket.socketpair(); a.send(b"q"); print(b.recv(1))
os.symlink("lk", "ln"); print(os.readlink("ln"), os.path.islink("ln"))
print(os.get_terminal_size.__name__, os.cpu_count() > 0, os.getcwd() == os.path.realpath("."))
signal.signal(signal.SIGALRM, lambda *a: print("alarm")); signal.setitimer(signal.ITIMER_REAL, 0.05); signal.pause()
X
$P misc.py
$P -m compileall -q mp.py && ls __pycache__ | wc -l
$P -c 'import ctypes,json,ssl,hashlib,decimal,zlib,lzma,bz2,curses,readline;print("imports")'
