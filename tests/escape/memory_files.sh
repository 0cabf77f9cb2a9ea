#!/bin/bash
# host-side
# needs: /usr/bin/python3
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
finish
