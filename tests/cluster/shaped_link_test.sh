#!/bin/bash
# What `doppio scale` predicts for two MPI ranks over a slow link, beside what they take: two network namespaces joined by a
# cable of 1 and of 10 Gbit/s, one compute thread each. Fails where both differ by more than 10 %.
#
#   tests/cluster/shaped_link_test.sh [DOPPIO] [BATCH]     # as root, with nothing else running
set -euo pipefail
here=$(realpath "$(dirname "$0")")
doppio=$(realpath "${1:-bazel-bin/tools/doppio}")
batch=${2:-4}
# shellcheck source=tests/cluster/two_nodes.sh
. "$here/two_nodes.sh"
work=$(mktemp -d)
trap 'two_nodes_down; rm -rf "$work"' EXIT

two_nodes_up
cd "$here/../.."
export OMP_NUM_THREADS=1 GOMP_SPINCOUNT=1000

# One rank's times: each process computes on its own core, beside another one that computes as well.
time_one() {
    taskset -c "$1" "$doppio" time --model=models/caffenet/train_val.prototxt --synthetic --batch="$batch" --iterations=8 --json
}
time_one 1 >"$work/other.json" &
time_one 0 >"$work/one.json"
wait $!

# Latency in us and GB/s of the cable as TCP sees it: half a round trip of one byte, and 200 MB one way.
link() {
    ip netns exec doppio-b python3 - <<'PY' &
import socket
s = socket.create_server(("10.77.0.2", 7000)); c, _ = s.accept()
for _ in range(200): c.sendall(c.recv(1))
n = 0
while n < 200_000_000: n += len(c.recv(1 << 20))
c.sendall(b"x")
PY
    ip netns exec doppio-a python3 - <<'PY'
import socket, time
for _ in range(50):
    try:
        c = socket.create_connection(("10.77.0.2", 7000)); break
    except OSError: time.sleep(0.1)
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
begun = time.perf_counter()
for _ in range(200): c.sendall(b"x"); c.recv(1)
latency = (time.perf_counter() - begun) / 400
data = bytes(1_000_000)
begun = time.perf_counter()
for _ in range(200): c.sendall(data)
c.recv(1)
print("%.1f:%.4f" % (latency * 1e6, 0.2 / (time.perf_counter() - begun)))
PY
    wait $!
}

printf '%-8s %-18s %14s %14s %8s\n' link "measured us:GB/s" "predicted ms" "measured ms" ratio
failed=0
for rate in 1gbit 10gbit; do
    two_nodes_rate $rate
    across=$(link)
    predicted=$("$doppio" scale --times="$work/one.json" --across="$across" --ranks_per_node=1 --max_ranks=2 --json |
        python3 -c 'import json, sys; print([p["iteration_ms"] for p in json.load(sys.stdin)["points"] if p["ranks"] == 2][0])')
    # Iterations per second of the last of several displays.
    two_nodes_mpirun -x OMP_NUM_THREADS -x GOMP_SPINCOUNT "$doppio" train --solver=models/caffenet/solver.prototxt --synthetic \
        --batch="$batch" --set=max_iter=25 --set=display=12 --unset=test_interval --unset=test_iter --set=snapshot_after_train=false \
        --set=snapshot_prefix="$work/s" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
    python3 - "$work/log" "$rate" "$across" "$predicted" <<'PY' || failed=1
import re, sys
log, rate, across, predicted = open(sys.argv[1]).read(), sys.argv[2], sys.argv[3], float(sys.argv[4])
speeds = [float(x) for x in re.findall(r"Iteration (?!0 )\d+ \(([\d.e+-]+) iter/s", log)]
measured = 1000 / speeds[-1]
print("%-8s %-18s %14.1f %14.1f %8.3f" % (rate, across, predicted, measured, predicted / measured))
sys.exit(not 0.9 <= predicted / measured <= 1.1)
PY
done
exit $failed
