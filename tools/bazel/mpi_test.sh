#!/bin/sh
# mpi_test.sh LAUNCHER RANKS PROGRAM: runs a GoogleTest program on RANKS ranks; only rank 0 reports.
launcher=$1 ranks=$2
shift 2
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
