#!/bin/bash
# Tests `doppio submit` with a real SLURM on this machine: a job of two tasks trains, receives USR1 before its time limit, exits with
# 75, is requeued, resumes from its snapshot, and reaches the same weights as a run without an interruption. A sweep runs its trials as
# jobs and survives a kill of its own process.
#
#   tests/cluster/slurm_test.sh [DOPPIO]     # as root, with Debian's slurm-wlm and munge
#
# All daemons run from a temporary folder and are stopped at the end; the system's configuration is not touched. Exits with 77 if
# SLURM itself does not start. ITERATIONS sets the length of the training, which must not finish before it is interrupted.
set -euo pipefail

doppio=$(realpath "${1:-bazel-bin/tools/doppio}")
root=$(mktemp -d)
pids=()

end() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true   # they write until they are gone
    rm -rf "$root"
}
trap end EXIT
fail() {
    echo "FAILED: $*" >&2
    tail -n 30 "$root"/*.log "$root"/job/*.out >&2 2>/dev/null || true
    exit 1
}
# comes SECONDS COMMAND...: repeats the command until it succeeds; returns 1 if it does not within SECONDS
comes() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}
wait_for() { comes "$@" || fail "waited in vain for: $*"; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# ---- A SLURM of one node
without() {
    echo "no SLURM here: $*" >&2
    exit 77
}
chmod 755 "$root"
mkdir -p "$root"/{state,spool,munge,job,tmp}
host=$(hostname -s)
cat > "$root/slurm.conf" <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$root/munge/socket
CredType=cred/munge
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool
TmpFS=$root/tmp
SlurmctldPidFile=$root/slurmctld.pid
SlurmdPidFile=$root/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=pmix
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
JobRequeue=1
SchedulerParameters=requeue_setup_env_fail
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc --all) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
export SLURM_CONF=$root/slurm.conf

dd if=/dev/urandom of="$root/munge/key" bs=1024 count=1 status=none
chmod 600 "$root/munge/key"
munged --foreground --force --key-file="$root/munge/key" --socket="$root/munge/socket" --pid-file="$root/munge/pid" \
    --seed-file="$root/munge/seed" --log-file="$root/munged.log" >"$root/munged.out.log" 2>&1 &
pids+=($!)
comes 20 test -S "$root/munge/socket" || without "munged: $(tail -n 1 "$root/munged.out.log")"
slurmctld -D -f "$SLURM_CONF" >"$root/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" >"$root/slurmd.log" 2>&1 &
pids+=($!)
comes 60 sh -c "sinfo -h -o %T | grep -q idle" ||
    without "slurmctld: $(tail -n 1 "$root/slurmctld.log"); slurmd: $(tail -n 1 "$root/slurmd.log")"
srun --mpi=list 2>&1 | grep -qE '^\s*pmix' || without "srun cannot load PMIx (libpmix-dev)"

# ---- The training
cd "$root/job"
cat > net.prototxt <<'NET'
name: "digits"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 4000 batch_size: 16 shuffle: true } }
layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1" inner_product_param { num_output: 200 weight_filler { type: "xavier" } } }
layer { name: "tanh" type: "TanH" bottom: "ip1" top: "ip1" }
layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2" inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
NET
enough=12000
[ -z "${TSAN_OPTIONS:-}" ] || enough=3000 # ThreadSanitizer is slow
iterations=${ITERATIONS:-$enough}
for run in whole parts; do
    cat > $run.prototxt <<SOLVER
net: "net.prototxt"
base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" random_seed: 5 display: 1000 max_iter: $iterations
snapshot_prefix: "$run"
SOLVER
done

# Submits the job script that Doppio writes, with --overcommit, because small machines have fewer cores than tasks.
submit() {
    "$doppio" submit slurm --nodes=1 --ranks_per_node=2 --time=00:10:00 --warn_seconds=60 -- train --solver="$1.prototxt" >"$1.sh"
    OMP_NUM_THREADS=1 sbatch --parsable --overcommit --output="$1.out" --export=ALL "$1.sh"
}
restarted() { scontrol show job "$1" | grep -q "Restarts=1"; }
finished() { test -e "$1_iter_$iterations.solverstate" && [ -z "$(squeue -h -j "$2")" ]; }

job=$(submit whole)
wait_for 300 finished whole "$job"
grep -q "2 replicas in processes that srun (SLURM) has started" whole.out || fail "srun's tasks did not join"

job=$(submit parts)
wait_for 120 grep -q "Iteration 1000 " parts.out
scancel --signal=USR1 "$job"      # as --signal=USR1@60 does 60 s before the time limit, to the tasks of the step
wait_for 60 restarted "$job"
# SLURM lets a requeued job wait for some minutes; this starts it at once. slurmd would refuse a job that starts in the
# second in which its last run was ended.
wait_for 60 sh -c "sinfo -h -o %T | grep -qx idle"
sleep 1.1
wait_for 60 scontrol update job="$job" StartTime=now
wait_for 300 finished parts "$job"
grep -q "resuming from parts_iter_" parts.out || fail "it did not resume"

# ---- A sweep whose trials are jobs, and whose own process is killed
cat > sweep.prototxt <<'SOLVER'
net: "net.prototxt"
base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" random_seed: 5 max_iter: 200 test_iter: 5 test_interval: 100 snapshot_prefix: "unused"
SOLVER
OMP_NUM_THREADS=1 "$doppio" sweep run --solver=sweep.prototxt --sweep_dir=sweep --param=base_lr=0.01,0.001,0.0001 --metric=min:loss \
    --on=slurm --jobs=2 --time=00:10:00 --warn_seconds=60 --cpus_per_rank=1 >sweep.log 2>&1 &
sweep=$!
wait_for 60 test -s sweep/t001.job
kill -9 $sweep
OMP_NUM_THREADS=1 "$doppio" sweep resume sweep >>sweep.log 2>&1 || fail "the sweep cannot resume"
grep -q "3 trials: 3 done" <("$doppio" sweep ls sweep) || fail "not all trials of the sweep are done"
[ "$(grep -c '"event":"begin"' sweep/sweep.jsonl)" = 3 ] || fail "a trial of the sweep ran twice"

cmp "whole_iter_$iterations.caffemodel" "parts_iter_$iterations.caffemodel" || fail "the resumed run has other weights"
echo "PASSED: two tasks of srun, stopped by USR1 at iteration $(grep -o 'resuming from parts_iter_[0-9]*' parts.out | tr -dc 0-9), requeued, resumed to the same weights"
