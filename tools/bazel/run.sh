#!/bin/sh
# run.sh PROGRAM [ARGUMENT...]: runs a program of another target as a test, with the environment of this test.
exec "$@"
