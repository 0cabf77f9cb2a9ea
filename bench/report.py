"""The results of bench/run, as text and as tables for docs/performance.md."""
import time


def ns(value):
    return f"{value:,.0f}"


BARE = {"notify-bare": "bare notification",
        "notify-fd": "the same with a descriptor"}


def calls_of(r):
    return {n: x for n, x in r["single"].items() if n not in BARE}


def over_bare(r, x):
    over = x["inside_min"] - r["single"]["notify-bare"]["min"]
    return ns(over) if over > 0 else "-"


def show_single(r):
    if not r["single"]:
        return
    print("\nSingle calls, ns: medians, and minima of all batches")
    print(f"{'':26}{'native':>11}{'inside':>11}{'ratio':>8}"
          f"{'min native':>13}{'min inside':>12}{'over bare':>11}")
    for n, text in BARE.items():
        x = r["single"][n]
        print(f"{text:26}{'':11}{ns(x['median']):>11}{'':8}"
              f"{'':13}{ns(x['min']):>12}")
    for n, x in calls_of(r).items():
        print(f"{n:26}{ns(x['native']):>11}{ns(x['inside']):>11}"
              f"{x['ratio']:>8.2f}{ns(x['native_min']):>13}"
              f"{ns(x['inside_min']):>12}{over_bare(r, x):>11}")


def floor_of(w):
    """The floor as a ratio, and ms above it."""
    return w["floor"] / w["native"], w["inside"] - w["floor"]


def show_workloads(r):
    if not r["workloads"]:
        return
    print("\nWorkloads, ms with the sandbox's start: medians, minima, "
          "processor time;\nnotified calls and descriptors given in one run; "
          "the ratio that is the floor,\nand what is above it, ms")
    print(f"{'':20}{'native':>9}{'inside':>9}{'ratio':>7}{'floor':>7}"
          f"{'above':>8}{'calls':>9}{'descr.':>8}"
          f"{'min native':>12}{'min inside':>11}{'cpu native':>11}"
          f"{'cpu inside':>11}")
    for n, x in r["workloads"].items():
        ratio, above = floor_of(x)
        print(f"{n:20}{x['native']:>9.1f}{x['inside']:>9.1f}"
              f"{x['ratio']:>7.2f}{ratio:>7.2f}{above:>8.1f}"
              f"{x['counts']['calls']:>9,}{x['counts']['descriptors']:>8,}"
              f"{x['native_min']:>12.1f}{x['inside_min']:>11.1f}"
              f"{x['native_cpu']:>11.1f}{x['inside_cpu']:>11.1f}")
    if "geometric_mean" in r:
        print(f"{'geometric mean':20}{r['geometric_mean']:>25.2f}  "
              "(without cold-start, which is a goal of its own)")


def show_others(r):
    if r["audit"]:
        print("\nA call with --audit, ns more than without: what it waits "
              "(least batch; median of\npairs), processor time of all with "
              "the stream's writer")
        for n, x in r["audit"].items():
            print(f"{n:26}{ns(x['over_min']):>11}{ns(x['over']):>11}"
                  f"{ns(x['cpu_over_min']):>11}{ns(x['cpu_over']):>11}")
    if r["parallel"]:
        print("\nstats a second of so many processes together: native, "
              "inside")
        for n, x in r["parallel"].items():
            print(f"{n:26}{ns(x['native']):>11}{ns(x['inside']):>11}")


def machine_text(m):
    return (f"{m['cpus']} x {m['cpu']}, {m.get('memory_mib', 0):,} MiB, "
            f"Linux {m['kernel']}, {m.get('date', 'no date')}, load "
            f"{m.get('load', 0):.1f}")


def show_baseline(r, base):
    """What changed since bench/baseline.json: ratios, which other machines
    share better than times, and what there are goals for."""
    old, was = base.get("workloads", {}), base.get("goals", {})
    loads = [n for n in r["workloads"] if n in old]
    marks = [n for n, g in r["goals"].items()
             if n in was and was[n]["unit"] == g["unit"]
             and not n.endswith("against native")
             # a mean of other workloads says nothing
             and (not n.startswith("geometric") or
                  set(r["workloads"]) == set(old))]
    if not loads and not marks:
        return
    print(f"\nAgainst the baseline ({machine_text(base['machine'])})")

    def line(name, before, now, text):
        change = f"{(now / before - 1) * 100:+.0f} %" if before > 0 else ""
        print(f"{name:56}{before:>12{text}}{now:>12{text}}{change:>9}")
    for n in loads:
        line(n + ", ratio", old[n]["ratio"], r["workloads"][n]["ratio"],
             ".2f")
    for n in marks:
        line(f"{n}, {r['goals'][n]['unit']}", was[n]["got"],
             r["goals"][n]["got"], ",.1f")


def bound(g):
    return f"{'at least' if g.get('least') else 'at most'} {g['limit']:,}"


def show(r):
    m = r["machine"]
    print(f"{m['cloche']} on {machine_text(m)}, "
          f"{m['file_system']}, uid {m['uid']}; {m['pairs']} pairs")
    show_single(r)
    show_others(r)
    if r["start"]:
        print("\nStart to end, ms: median and minimum, in turn; processor "
              "time")
        for n, x in r["start"].items():
            print(f"{n:24}{x['median']:>11.2f}{x['min']:>11.2f}"
                  f"{x['cpu']:>11.2f}")
    if r["memory"]:
        print("\nMemory while `sleep` runs inside, KiB: PSS, RSS "
              "(smaps_rollup)")
        for n, x in r["memory"].items():
            print(f"{n:24}{x['pss_kib']:>11,}{x['rss_kib']:>11,}")
    show_workloads(r)
    if r["goals"]:
        print("\nGoals, on minima where there are some")
        for n, g in r["goals"].items():
            print(f"{'met' if g['met'] else 'MISSED':8}{n}: "
                  f"{g['got']:,.2f} {g['unit']}, {bound(g)}")
    for text in r["left_out"]:
        print("left out:", text)


# The same as tables for docs/performance.md.

def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(str(x) for x in row) + " |")
    print()


def markdown_single(r):
    if not r["single"]:
        return
    bare, fd = r["single"]["notify-bare"], r["single"]["notify-fd"]
    print(f"Single calls, ns. Bare notification: {ns(bare['median'])}, "
          f"minimum {ns(bare['min'])}; with a descriptor "
          f"{ns(fd['median'])}, {ns(fd['min'])}.\n")
    table(["call", "native", "inside", "ratio", "native, minimum",
           "inside, minimum", "over bare"],
          [[n, ns(x["native"]), ns(x["inside"]), f"{x['ratio']:.2f}",
            ns(x["native_min"]), ns(x["inside_min"]), over_bare(r, x)]
           for n, x in calls_of(r).items()])


def markdown_workloads(r):
    if r["workloads"]:
        print("Workloads, ms, with the start of the sandbox. The floor is "
              "what the ratio would be if the sentry took no time; above it "
              "lie so many ms.\n")
        table(["", "native", "inside", "ratio", "floor", "above",
               "notified calls", "descriptors", "native, minimum",
               "inside, minimum", "native, processor", "inside, processor"],
              [[n, f"{x['native']:.0f}", f"{x['inside']:.0f}",
                f"{x['ratio']:.2f}", f"{floor_of(x)[0]:.2f}",
                f"{floor_of(x)[1]:.0f}", f"{x['counts']['calls']:,}",
                f"{x['counts']['descriptors']:,}",
                f"{x['native_min']:.0f}", f"{x['inside_min']:.0f}",
                f"{x['native_cpu']:.0f}", f"{x['inside_cpu']:.0f}"]
               for n, x in r["workloads"].items()])
    if "geometric_mean" in r:
        print(f"Geometric mean of the ratios, the start alone left out: "
              f"{r['geometric_mean']:.2f}.\n")


def markdown_others(r):
    if r["audit"]:
        print("A call with `--audit`, ns more than without: what it waits, "
              "and processor time with that of the stream's writer.\n")
        table(["", "least batches", "median of pairs",
               "processor time, least", "median"],
              [[n, ns(x["over_min"]), ns(x["over"]),
                ns(x["cpu_over_min"]), ns(x["cpu_over"])]
               for n, x in r["audit"].items()])
    if r["parallel"]:
        print("stats a second of several processes together.\n")
        table(["processes", "native", "inside"],
              [[n, ns(x["native"]), ns(x["inside"])]
               for n, x in r["parallel"].items()])
    if r["start"]:
        print("Start to end, ms.\n")
        table(["", "median", "minimum", "processor time"],
              [[n, f"{x['median']:.2f}", f"{x['min']:.2f}",
                f"{x['cpu']:.2f}"]
               for n, x in r["start"].items()])
    if r["memory"]:
        print("Memory while `sleep` runs inside, KiB.\n")
        table(["", "PSS", "RSS"], [[n, f"{x['pss_kib']:,}",
                                    f"{x['rss_kib']:,}"]
                                   for n, x in r["memory"].items()])


def markdown(r):
    m = r["machine"]
    print(f"{m['cloche']} on Linux {m['kernel'].split('-')[0]}, {m['cpus']} "
          f"virtual processors ({m['cpu']}), {m['memory_mib']:,} MiB, "
          f"{m['file_system']}, "
          f"{'root' if m['uid'] == 0 else 'a user'}, load average "
          f"{m['load']:.1f} at the start; {m['pairs']} pairs, "
          f"{time.strftime('%Y-%m')}.\n")
    markdown_single(r)
    markdown_others(r)
    markdown_workloads(r)
    if r["goals"]:
        print("Goals, on minima where there are some.\n")
        table(["", "measured", "goal", ""],
              [[n, f"{g['got']:,.2f} {g['unit']}", bound(g),
                "met" if g["met"] else "**missed**"]
               for n, g in r["goals"].items()])
    for text in r["left_out"]:
        print(f"Left out: {text}.\n")
