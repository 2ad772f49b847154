#!/bin/bash
# Compares the iteration time that `doppio scale` predicts for two MPI ranks over a slow link with the measured one. The ranks run
# in two network namespaces joined by a cable of 1 and of 10 Gbit/s, with one compute thread each. Fails if the times differ by
# more than 10 %.
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

printf '%-8s %-18s %14s %14s %8s\n' link "us:GB/s:ms/GB" "predicted ms" "measured ms" ratio
failed=0
for rate in 1gbit 10gbit; do
    two_nodes_rate $rate
    : >"$work/rounds"
    # Prediction and measurement take turns, because a machine's speed varies over minutes.
    for _ in 1 2 3; do
        two_nodes_mpirun -x OMP_NUM_THREADS -x GOMP_SPINCOUNT "$doppio" scale --model=models/caffenet/train_val.prototxt --synthetic \
            --batch="$batch" --iterations=8 --max_ranks=2 --json >"$work/scale.json" 2>"$work/log" || { tail -n 20 "$work/log"; exit 1; }
        # The rate is read from the last of several displays, in iterations per second.
        two_nodes_mpirun -x OMP_NUM_THREADS -x GOMP_SPINCOUNT "$doppio" train --solver=models/caffenet/solver.prototxt --synthetic \
            --batch="$batch" --set=max_iter=25 --set=display=12 --unset=test_interval --unset=test_iter --set=snapshot_after_train=false \
            --set=snapshot_prefix="$work/s" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
        python3 - "$work/log" "$rate" "$work/scale.json" "$work/rounds" <<'PY'
import json, re, sys
log, rate, scale = open(sys.argv[1]).read(), sys.argv[2], json.load(open(sys.argv[3]))
across = "%(latency_us).0f:%(gbytes_per_s).3f:%(held_up_ms_per_gbyte).0f" % scale["across"]
predicted = [p["iteration_ms"] for p in scale["points"] if p["ranks"] == 2][0]
speeds = [float(x) for x in re.findall(r"Iteration (?!0 )\d+ \(([\d.e+-]+) iter/s", log)]
measured = 1000 / speeds[-1]
print("%-8s %-18s %14.1f %14.1f %8.3f" % (rate, across, predicted, measured, predicted / measured))
print(predicted / measured, file=open(sys.argv[4], "a"))
PY
    done
    python3 - "$rate" "$work/rounds" <<'PY' || failed=1
import statistics, sys
ratio = statistics.median(map(float, open(sys.argv[2])))
print("%-8s %-48s %8.3f" % (sys.argv[1], "median", ratio))
sys.exit(not 0.9 <= ratio <= 1.1)
PY
done
exit $failed
