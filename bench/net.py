#!/usr/bin/env python3
"""net.py - what the network costs: loopback inside, and the gateway.

usage: bench/net.py [--json] [--check] [--pairs N] [CLOCHE [NET]]
CLOCHE is build/cloche, NET build/bench/net. A server runs on the loopback;
natively it is reached there, through the gateway as host.internal. Native and
inside run in turn; a ratio is the median of the pairs' ratios. --check: status
1 if a goal is missed.
"""
import json, os, statistics, subprocess, sys, time

args = sys.argv[1:]
pairs = int(args.pop(args.index('--pairs') + 1)) if '--pairs' in args else 5
words = [a for a in args if not a.startswith('--')]
top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
cloche = words[0] if words else top + '/build/cloche'
net = words[1] if len(words) > 1 else top + '/build/bench/net'
LOOPBACK, GATEWAY = '127.0.0.1', '10.0.2.2'


def out(cmd):
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE,
                          timeout=300).stdout.split()


def inside(*cmd):
    return [cloche, 'run', '--quiet', '--net-allow', 'host.internal', '--',
            *cmd]


def pairs_of(what, count, value):
    """Medians of native, inside and of the difference and the ratio."""
    rows = []
    for i in range(pairs):
        n = [net, what, LOOPBACK, port, str(count)]
        g = inside(net, what, GATEWAY, port, str(count))
        if i % 2:
            b, a = value(out(g)), value(out(n))
        else:
            a, b = value(out(n)), value(out(g))
        rows.append((a, b))
    med = statistics.median
    return {'native': med(a for a, b in rows), 'inside': med(b for a, b in rows),
            'added': med(b - a for a, b in rows),
            'least_added': min(b for a, b in rows) - min(a for a, b in rows),
            'ratio': med(b / a for a, b in rows)}


def loopback():
    """Both ends inside."""
    script = ('p=$(mktemp); "$0" serve 127.0.0.1 >$p & s=$!; until [ -s $p ]; '
              'do :; done; "$0" bulk 127.0.0.1 $(cat $p) 1000; '
              'kill $s; rm $p')
    rows = []
    for i in range(pairs):
        a = float(out(['sh', '-c', script, net])[0])
        b = float(out([cloche, 'run', '--quiet', '--', 'sh', '-c', script,
                       net])[0])
        rows.append((a, b))
    return {'native': statistics.median(a for a, b in rows),
            'inside': statistics.median(b for a, b in rows),
            'ratio': statistics.median(b / a for a, b in rows)}


def gateway_pss():
    """kB of the gateway of the newest run, or None."""
    best = None
    for p in filter(str.isdigit, os.listdir('/proc')):
        try:
            if open('/proc/%s/comm' % p).read() != 'cloche-gateway\n':
                continue
            for line in open('/proc/%s/smaps_rollup' % p):
                if line.startswith('Pss:') and (not best or int(p) > best[0]):
                    best = (int(p), int(line.split()[1]))
        except OSError:
            pass
    return best and best[1]


def held(count):
    p = subprocess.Popen(inside(net, 'hold', GATEWAY, port, str(count)),
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdout.readline()
    pss = gateway_pss()
    p.stdin.close()
    p.wait()
    return pss


server = subprocess.Popen([net, 'serve', LOOPBACK], stdout=subprocess.PIPE)
port = server.stdout.readline().decode().strip()
try:
    first = lambda w: float(w[0])
    second = lambda w: float(w[1])
    r = {'loopback, bytes/s': loopback(),
         'gateway, bytes/s': pairs_of('bulk', 500, first),
         'gateway, connect ns': pairs_of('connect', 1000, second),
         'gateway, connect ns, least': pairs_of('connect', 1000, first),
         'gateway, request ns': pairs_of('request', 5000, second)}
    small, large = held(1), held(1000)
    if small:
        r['gateway, kB a connection of 1,000'] = {
            'native': 0, 'inside': (large - small) / 1000}
finally:
    server.kill()

goals = [('loopback, bytes/s', 'ratio', lambda x: x >= 1 / 1.05, '1 / 1.05'),
         ('gateway, bytes/s', 'ratio', lambda x: x >= 0.7, '0.7'),
         ('gateway, connect ns', 'added', lambda x: x < 100e3, '100 us more'),
         ('gateway, request ns', 'added', lambda x: x < 40e3, '40 us more')]
missed = [g for g in goals if not g[2](r[g[0]][g[1]])]
if '--json' in args:
    print(json.dumps({'load': os.getloadavg()[0], 'net': r}, indent=1))
else:
    print('| what | native | inside | ratio |\n|---|---:|---:|---:|')
    for k, v in r.items():
        ratio = '%.2f' % v['ratio'] if 'ratio' in v else ''
        print('| %s | %s | %s | %s |' % (
            k, format(round(v['native']), ','), format(round(v['inside'], 1), ',')
            if v['inside'] < 100 else format(round(v['inside']), ','), ratio))
for name, key, fn, what in missed:
    print('missed: %s: %s is %.2f, the goal %s' %
          (name, key, r[name][key], what), file=sys.stderr)
sys.exit(1 if missed and '--check' in args else 0)
