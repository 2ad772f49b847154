#!/bin/sh
# mpi_test.sh RANKS PROGRAM: runs a GoogleTest program on RANKS ranks; only rank 0 reports.
ranks=$1
shift
# All ranks would create and remove this one file of Bazel's.
unset TEST_PREMATURE_EXIT_FILE
# shellcheck disable=SC2016  # each rank expands it
exec mpirun -n "$ranks" sh -c '
  [ "$OMPI_COMM_WORLD_RANK" = 0 ] || unset XML_OUTPUT_FILE GTEST_OUTPUT
  exec "$@"' sh "$@"
