#!/bin/sh
# mpi_test.sh LAUNCHER RANKS PROGRAM: runs a GoogleTest program on RANKS ranks; only rank 0 reports. The launcher "env" stands for this
# script, which starts the ranks without MPI, as torchrun does.
launcher=$1 ranks=$2
shift 2
if [ "$launcher" = env ]; then
  unset TEST_PREMATURE_EXIT_FILE
  MASTER_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
  export MASTER_PORT MASTER_ADDR=127.0.0.1 WORLD_SIZE="$ranks" DOPPIO_JOB_SECRET=test
  pids='' failed=0 rank=1
  while [ "$rank" -lt "$ranks" ]; do
    (unset XML_OUTPUT_FILE GTEST_OUTPUT; RANK=$rank exec "$@") &
    pids="$pids $!" rank=$((rank + 1))
  done
  RANK=0 "$@" || failed=1
  for pid in $pids; do wait "$pid" || failed=1; done
  exit $failed
fi
if ! command -v "$launcher" >/dev/null; then
  echo "skipped: there is no $launcher"
  [ -z "$XML_OUTPUT_FILE" ] ||
    echo '<testsuites><testsuite name="mpi"><testcase name="ranks"><skipped/></testcase></testsuite></testsuites>' >"$XML_OUTPUT_FILE"
  exit 0
fi
# Otherwise all ranks would create and remove this same file.
unset TEST_PREMATURE_EXIT_FILE
# shellcheck disable=SC2016  # each rank expands it
exec "$launcher" -n "$ranks" sh -c '
  [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || unset XML_OUTPUT_FILE GTEST_OUTPUT
  exec "$@"' sh "$@"
