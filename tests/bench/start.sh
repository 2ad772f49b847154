#!/usr/bin/env bash
# Runs the program of the arguments: a test that it starts and ends well.
exec "$@"
