#!/usr/bin/python3
"""scale.py - does the cost of a call grow with the number of files?

usage: bench/scale.py [--markdown] [--cloche PROGRAM] [SIZE...]

For each size (10^2 to 10^5) a folder is filled with empty files by mknod, each
is looked at, a missing name asked for, all listed, renamed and removed; in
ops per second, natively and inside, each on a tmpfs. `flat` is the cost per
call at the largest size as a multiple of that at the smallest, inside.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

OPS = ("create", "stat", "missing", "readdir", "rename", "unlink")
ROUNDS = 3


def work(base, n):
    """One round in a new folder: seconds per call, by operation."""
    os.mkdir(base)
    os.chdir(base)
    names = ["f%d" % i for i in range(n)]
    took = {}

    def timed(op, fn):
        begin = time.perf_counter()
        fn()
        took[op] = (time.perf_counter() - begin) / n

    timed("create", lambda: [os.mknod(x) for x in names])
    timed("stat", lambda: [os.stat(x) for x in names])
    timed("missing", lambda: [os.access("q" + x, os.F_OK) for x in names])
    timed("readdir", lambda: os.listdir("."))
    timed("rename", lambda: [os.rename(x, "g" + x) for x in names])
    timed("unlink", lambda: [os.unlink("g" + x) for x in names])
    os.chdir("/")
    os.rmdir(base)
    return took


def child(base, sizes):
    """The best of some rounds of each size, as JSON."""
    best = {}
    for n in sizes:
        for r in range(ROUNDS if n <= 10000 else 1):
            for op, s in work(os.path.join(base, "scale"), n).items():
                k = "%s %d" % (op, n)
                best[k] = min(s, best.get(k, s))
    print(json.dumps(best))


def measure(command, base, sizes):
    args = command + [sys.executable, os.path.abspath(__file__), "--child",
                      base] + [str(n) for n in sizes]
    return json.loads(subprocess.run(args, check=True,
                                     stdout=subprocess.PIPE).stdout)


def rate(s):
    return "{:,.0f}".format(1 / s)


def show(native, inside, sizes, markdown):
    head = ["call"] + ["%s %d" % (s, n) for n in sizes
                       for s in ("native", "inside")] + ["flat"]
    rows = [head]
    for op in OPS:
        row = [op]
        for n in sizes:
            k = "%s %d" % (op, n)
            row += [rate(native[k]), rate(inside[k])]
        first, last = ("%s %d" % (op, n) for n in (sizes[0], sizes[-1]))
        rows.append(row + ["%.2f" % (inside[last] / inside[first])])
    if markdown:
        rows.insert(1, ["---"] * len(head))
        print("\n".join("| " + " | ".join(r) + " |" for r in rows))
        return
    width = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for r in rows:
        print("  ".join(c.rjust(w) for c, w in zip(r, width)))


def main(args):
    if args[:1] == ["--child"]:
        return child(args[1], [int(a) for a in args[2:]])
    markdown = "--markdown" in args
    cloche = "build/cloche"
    if "--cloche" in args:
        cloche = args[args.index("--cloche") + 1]
        args = [a for a in args if a not in ("--cloche", cloche)]
    sizes = [int(a) for a in args if not a.startswith("-")] or \
        [100, 1000, 10000, 100000]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as base:
        native = measure([], base, sizes)
    inside = measure([cloche, "run", "--quiet", "--tmpfs", "/tmp/scale-base",
                      "--"], "/tmp/scale-base", sizes)
    show(native, inside, sizes, markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
