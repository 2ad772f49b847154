#!/bin/bash
# Two ranks on two machines (network namespaces): they train together; when the link between them is cut, both end within
# --stall_timeout + 10 s with a message that names a rank and its machine.
#
#   tests/cluster/link_cut_test.sh [DOPPIO]     # as root
set -euo pipefail
here=$(realpath "$(dirname "$0")")
doppio=$(realpath "${1:-bazel-bin/tools/doppio}")
# shellcheck source=tests/cluster/two_nodes.sh
. "$here/two_nodes.sh"
work=$(mktemp -d)
trap 'two_nodes_down; rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    tail -n 30 "$work/log" >&2
    exit 1
}

two_nodes_up
cd "$work"
cat > net.prototxt <<'NET'
name: "digits"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 400 batch_size: 8 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
NET
echo 'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" display: 100 max_iter: 1000000000 snapshot_prefix: "run"' > solver.prototxt

stall=3
export OMP_NUM_THREADS=1
two_nodes_mpirun -x OMP_NUM_THREADS "$doppio" train --solver=solver.prototxt --stall_timeout=$stall >log 2>&1 &
mpirun=$!
for _ in $(seq 120); do
    grep -q "Iteration 1000 " log && break
    kill -0 $mpirun 2>/dev/null || fail "it ended by itself"
    sleep 0.5
done
grep -q "Iteration 1000 " log || fail "it does not train"

# How many processes there are of the program.
ranks() { { grep -lx doppio /proc/[0-9]*/comm 2>/dev/null || true; } | wc -l; }

[ "$(ranks)" = 2 ] || fail "there are not two ranks"
two_nodes_cut
begun=$(date +%s)
while [ "$(ranks)" -gt 0 ]; do
    [ $(($(date +%s) - begun)) -le $((stall + 10)) ] || fail "ranks are still there $((stall + 10)) s after the cut"
    sleep 0.2
done
took=$(($(date +%s) - begun))
grep -Eq "error: rank [01] on node-[ab] has been silent for $stall s" log || fail "nobody was named"
echo "PASSED: both ranks had ended $took s after the cut: $(grep -Eo 'error: rank [01] on node-[ab] has been silent[^:]*' log | head -1)"
