#!/bin/bash
# Two ranks on two machines (network namespaces) train together. Then the link between them is cut, or loses all packets, or a
# rank is killed: both ranks end in time with a message that names a rank and its machine, and mpirun ends as well.
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

export OMP_NUM_THREADS=1

wait_for() {   # SECONDS COMMAND...: false if the command does not succeed in time
    local end=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -lt $end ] || return 1
        sleep 0.1
    done
}
trains() { grep -q "Iteration 100 " log; }
no_ranks() { [ -z "$(two_nodes_pids doppio)" ]; }
no_mpirun() { ! kill -0 "$mpirun" 2>/dev/null; }
seconds_since() { echo "scale=1; ($(date +%s%N) - $1) / 1000000000" | bc; }

# try NAME SECONDS MESSAGE FLAGS COMMAND...: COMMAND is what happens to a training with FLAGS; both ranks end within SECONDS.
try() {
    local name=$1 seconds=$2 message=$3 flags=$4 begun ranks
    shift 4
    # shellcheck disable=SC2086  # several flags
    two_nodes_mpirun -x OMP_NUM_THREADS "$doppio" train --solver=solver.prototxt $flags >log 2>&1 &
    mpirun=$!
    wait_for 120 trains || fail "$name: it does not train"
    [ "$(two_nodes_pids doppio | wc -l)" = 2 ] || fail "$name: there are not two ranks"
    begun=$(date +%s%N)
    "$@"
    wait_for "$seconds" no_ranks || fail "$name: ranks are still there after $seconds s"
    ranks=$(seconds_since "$begun")
    wait_for 20 no_mpirun || fail "$name: mpirun is still there"
    grep -Eq "$message" log || fail "$name: nobody was named"
    echo "PASSED: $name: ranks ended after $ranks s, mpirun after $(seconds_since "$begun") s: $(grep -Eo "$message" log | head -1)"
}

rank_1() { ip netns pids doppio-b | while read -r pid; do grep -qx doppio "/proc/$pid/comm" && echo "$pid"; done; }
kill_rank_1() { kill -9 "$(rank_1)"; }

silent='error: rank [01] on node-[ab] has been silent for'
try "a cut link" 13 "$silent 3 s" --silence_timeout=3 two_nodes_cut
two_nodes_mend
try "lost packets" 13 "$silent 3 s" --silence_timeout=3 two_nodes_lose
two_nodes_find
try "lost packets, with default times" 30 "$silent 20 s" "" two_nodes_lose
two_nodes_find
try "a killed rank" 3 'error: rank [01] on node-[ab] is gone|exited on signal 9' "" kill_rank_1
