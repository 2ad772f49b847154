#!/bin/bash
# compile_cu.sh INPUTS READ UNUSED PTX NVCC...: runs nvcc. Writes to UNUSED those of the files listed in INPUTS that nvcc has
# not read, so that changing them recompiles nothing, and to PTX the PTX for the newest GPU generation.
set -euo pipefail
inputs=$1 read=$2 unused=$3 ptx=$4
shift 4
# The object contains the names of nvcc's intermediate files, so they must not depend on the process id.
keep=$read.keep
mkdir "$keep"
trap 'rm -rf "$keep"' EXIT
"$@" -MD -MF "$read" --keep --keep-dir "$keep"
tr -s ' \\\n' '\n' <"$read" | sed 's,^\./,,' | grep -vxFf - "$inputs" >"$unused" || true
# The newest generation sorts last with sort -V, which compares compute_80, compute_90 and compute_100 as numbers.
newest=$(find "$keep" -name '*.ptx' | sort -V | tail -n 1)
cp "$newest" "$ptx"
