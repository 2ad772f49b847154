#!/bin/bash
# compile_cu.sh INPUTS READ UNUSED NVCC...: runs nvcc, and writes to UNUSED those of the files listed in INPUTS that it has not
# read, so that a change of them compiles nothing again.
set -euo pipefail
inputs=$1 read=$2 unused=$3
shift 3
# The object contains the names of nvcc's intermediate files, so they must not depend on the process id.
keep=$read.keep
mkdir "$keep"
trap 'rm -rf "$keep"' EXIT
"$@" -MD -MF "$read" --keep --keep-dir "$keep"
tr -s ' \\\n' '\n' <"$read" | sed 's,^\./,,' | grep -vxFf - "$inputs" >"$unused" || true
