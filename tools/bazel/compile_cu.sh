#!/bin/bash
# compile_cu.sh INPUTS READ UNUSED PTX NVCC...: runs nvcc, writes to UNUSED those of the files listed in INPUTS that it has not
# read, so that a change of them compiles nothing again, and to PTX what it has made for the newest generation of GPUs.
set -euo pipefail
inputs=$1 read=$2 unused=$3 ptx=$4
shift 4
# The object contains the names of nvcc's intermediate files, so they must not depend on the process id.
keep=$read.keep
mkdir "$keep"
trap 'rm -rf "$keep"' EXIT
"$@" -MD -MF "$read" --keep --keep-dir "$keep"
tr -s ' \\\n' '\n' <"$read" | sed 's,^\./,,' | grep -vxFf - "$inputs" >"$unused" || true
# By name the newest generation comes last: compute_80, compute_90, compute_100 have numbers of different lengths.
newest=$(find "$keep" -name '*.ptx' | sort -V | tail -n 1)
cp "$newest" "$ptx"
