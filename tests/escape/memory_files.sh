#!/bin/bash
# host-side
# needs: /usr/bin/python3
# timeout: 120
# A guest cannot get around --memory by files in memory that it does not map.
. "$(dirname "$0")/lib.inc"

"$CLOCHE" run --quiet --memory 150M -- /usr/bin/python3 -c '
import os, time
held = []
for i in range(50):
    held.append(os.memfd_create("x"))
    os.write(held[-1], b"x" * (10 << 20))
    time.sleep(0.05)
open("done", "w")
print("filled", flush=True)' >out 2>/dev/null
check memory-files-count sh -c '! grep -q filled out'
"$CLOCHE" run --quiet --memory 150M -- /usr/bin/python3 -c '
import mmap, os, time
f = os.memfd_create("x")
os.ftruncate(f, 80 << 20)
m = mmap.mmap(f, 80 << 20)
for i in range(80):
    m.write(b"x" * (1 << 20))
if os.fork() == 0:
    for i in range(0, 80 << 20, 4096):
        m[i]
    time.sleep(1)
    os._exit(0)
os.wait()
print("lives", flush=True)' >out 2>/dev/null
check mapped-ones-count-once grep -q lives out
# what was mapped becomes a file's, so that nothing seems to be more
"$CLOCHE" run --quiet --memory 300M -- /usr/bin/python3 -c '
import mmap, os, time
first = os.memfd_create("first")
m = mmap.mmap(-1, 200 << 20)
for i in range(200):
    m.write(b"x" * (1 << 20))
time.sleep(0.5)
m.close()
f = os.memfd_create("x")
for i in range(200):
    os.write(f, b"x" * (1 << 20))
time.sleep(0.5)
print("lives", flush=True)
n = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(200):
    n.write(b"x" * (1 << 20))
time.sleep(1)
print("filled", flush=True)' >out 2>/dev/null
check a-file-in-place-of-a-mapping-may-be grep -q lives out
check and-counts sh -c '! grep -q filled out'
# held by another than who made it, and never mapped by that one
"$CLOCHE" run --quiet --memory 150M -- /usr/bin/python3 -c '
import array, os, socket, time
a, b = socket.socketpair()
if os.fork() == 0:
    for i in range(20):
        f = os.memfd_create("x")
        os.write(f, b"x" * (10 << 20))
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                            array.array("i", [f]))])
        os.close(f)
    os._exit(0)
held = [b.recvmsg(1, 64) for i in range(20)]
time.sleep(1)
print("filled", flush=True)' >out 2>/dev/null
check memory-files-of-another-count sh -c '! grep -q filled out'
# many descriptors of the same files are so many files and no more
"$CLOCHE" run --quiet --memory 300M --pids 200 -- /usr/bin/python3 -c '
import os, time
for i in range(1500):
    f = os.memfd_create("x")
    os.write(f, b"x" * 65536)
for i in range(20):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
time.sleep(1)
print("lives", flush=True)' >out 2>/dev/null
check files-of-many-processes-count-once grep -q lives out
finish
