# needs: sqlite3 python3
# timeout: 180
# modes: bare
# Case 29: eight writers on one file; WAL with one of two killed.
set -u
cat >w.py <<'X'
import sqlite3, sys
c = sqlite3.connect("db", timeout=60, isolation_level=None)
for i in range(40):
    c.execute("begin immediate")
    c.execute("insert into t values(?, ?)", (int(sys.argv[1]), i))
    c.execute("commit")
X
sqlite3 db 'create table t(w, i);'
for n in 1 2 3 4 5 6 7 8; do /usr/bin/python3 w.py $n & done; wait
sqlite3 db 'select count(*), count(distinct w) from t; pragma integrity_check;'
cat >k.py <<'X'
import sqlite3, sys
c = sqlite3.connect("wal", timeout=60, isolation_level=None)
print("up", flush=True)
i = 0
while True:
    i += 1
    c.execute("insert into t values(?)", (i,))
X
sqlite3 wal 'pragma journal_mode=wal; create table t(i);'
/usr/bin/python3 k.py >k1 & a=$!
/usr/bin/python3 k.py >k2 & b=$!
while [ ! -s k1 ] || [ ! -s k2 ]; do sleep 0.05; done
exec 3>&2 2>/dev/null # bash may or may not say that they were killed
sleep 0.5; kill -9 $a; wait $a; sleep 0.3; kill -9 $b; wait $b
exec 2>&3 3>&-
sqlite3 wal 'select count(*) > 2 from t; pragma integrity_check;'
sqlite3 wal 'pragma wal_checkpoint(truncate);'; ls wal*
sqlite3 :memory: 'select 6*7; select sqlite_version() > "3";'
sqlite3 db '.dump' | wc -l; sqlite3 db 'vacuum; select count(*) from t;'
