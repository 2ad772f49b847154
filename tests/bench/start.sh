#!/usr/bin/env bash
# Runs the command in the arguments, to test that it starts and exits with 0.
exec "$@"
