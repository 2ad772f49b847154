#!/usr/bin/env bash
# Prints the commit that Bazel stamps programs with (--workspace_status_command), followed by
# "+changes" if a tracked file differs from it. An archive of the sources has its commit in
# core/base/commit.txt, which `git archive` fills in. For other copies of the tree, such as in a
# container, DOPPIO_COMMIT in the environment names it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

commit=$(head -n 1 core/base/commit.txt)
if [[ $commit == *Format* ]]; then
  commit=${DOPPIO_COMMIT:-}
  # A copy of the tree inside another repository does not belong to that repository.
  top=$(git rev-parse --show-toplevel 2>/dev/null || true)
  if [[ -z $commit && -n $top && $top -ef . ]]; then
    commit=$(git rev-parse HEAD 2>/dev/null || true)
    if [[ -n $commit && -n $(git status --porcelain --untracked-files=no 2>/dev/null || true) ]]; then
      commit+=+changes
    fi
  fi
fi
echo "STABLE_DOPPIO_COMMIT $commit"
