"""What the figures of bench/run are held against, and the table of it in
docs/performance.md (`bench/run --goals`), so that the two say the same.

A Goal says what it is about (`text` and `limit_text`, for the table) and finds
its measured values among the results: `find` yields (name, value).
"""
from workloads import GEOMEAN_LIMIT, LIMIT, METADATA_LIMIT

NAMED = ("stat", "stat-absolute", "access-missing", "readlink",
         "open-missing")
NATIVE = ("read-4k", "pread-4k", "write-4k-shm", "mmap-munmap", "poll",
          "futex-wake")
PROCS = 4


class Goal:
    def __init__(self, text, limit_text, limit, unit, find, least=False):
        self.text, self.limit_text = text, limit_text
        self.limit, self.unit, self.find = limit, unit, find
        self.least = least  # the limit is the least, not the most

    def judge(self, r):
        for name, got, *limit in self.find(r):
            limit = limit[0] if limit else self.limit
            met = got >= limit if self.least else got <= limit
            yield name, {"got": got, "limit": limit, "unit": self.unit,
                         "least": self.least, "met": met}


def over(names, floor, floor_text):
    def find(r):
        s = r["single"]
        for n in names:
            if n in s and floor in s:
                yield (f"{n} over {floor_text}",
                       s[n]["inside_min"] - s[floor]["min"])
    return find


def ratios(r):
    for n in NATIVE:
        if n in r["single"]:
            yield f"{n} against native", r["single"][n]["ratio_min"]


def fork_exec(r):
    x = r["single"].get("fork-exec-true")
    if x:
        yield ("fork, exec of /bin/true and wait over native",
               x["inside_min"] - x["native_min"])


def start(r):
    s = r["start"]
    if "cloche" in s:
        yield ("start of a sandbox over /bin/true",
               s["cloche"]["median"] - s["true"]["median"])


def audit(r):
    x = r["audit"].get("stat")
    if x:
        yield "a stat with --audit over one without", x["over_min"]


def together(r):
    x = r["parallel"].get(str(PROCS))
    if x:
        yield (f"stats a second of {PROCS} processes together",
               x["inside"])


def each_workload(r):
    for n, w in r["workloads"].items():
        if w["limit"]:
            yield f"{n} against native", w["ratio"], w["limit"]


def mean(r):
    if "geometric_mean" in r:
        yield "geometric mean of the workloads", r["geometric_mean"]


def memory(r):
    if "sentry" in r["memory"]:
        yield ("sentry's PSS while a guest sleeps",
               r["memory"]["sentry"]["pss_kib"])


GOALS = [
    Goal("stat, access, readlink, an open that fails",
         "within 1.2 µs of the bare notification", 1200, "ns",
         over(NAMED, "notify-bare", "the bare notification")),
    Goal("open and close of a read-only host file",
         "within 1.2 µs of a bare notification that gives a descriptor",
         1200, "ns", over(("open-close-host",), "notify-fd",
                          "a bare notification with a descriptor")),
    Goal("read, write, pread, mmap, poll, futex", "within 1.1 of native",
         1.1, "x", ratios),
    Goal("fork, exec of /bin/true and wait", "within 60 µs of native",
         60_000, "ns", fork_exec),
    Goal("start of `cloche run -- /bin/true`",
         "within 4 ms of /bin/true", 4.0, "ms", start),
    Goal("`--audit`, for a call that waits for it",
         "200 ns more than without", 200, "ns", audit),
    Goal(f"{PROCS} processes that stat, together",
         "250,000 calls a second or more", 250_000, "/s", together,
         least=True),
    Goal("each workload", f"within {LIMIT} of native; pure walks over "
         f"metadata (find, grep -r, git status) {METADATA_LIMIT}", LIMIT, "x",
         each_workload),
    Goal("geometric mean of the workloads",
         f"{GEOMEAN_LIMIT} of native; the start of a sandbox alone is a goal "
         "of its own and not in it", GEOMEAN_LIMIT, "x", mean),
    Goal("the sentry, while a guest sleeps", "under 10 MiB PSS", 10 * 1024,
         "KiB", memory),
]


def judge(r):
    return {name: verdict for g in GOALS for name, verdict in g.judge(r)}


def table():
    rows = [f"| {g.text} | {g.limit_text} |" for g in GOALS]
    return "\n".join(["| | |", "|---|---|"] + rows) + "\n"
