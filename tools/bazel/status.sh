#!/usr/bin/env bash
# What Bazel stamps programs with (--workspace_status_command): the commit of the tree, with
# "+changes" where a tracked file differs from it. An archive of the sources carries its commit in
# core/base/commit.txt, which `git archive` fills in. DOPPIO_COMMIT in the environment says it where
# neither is there, as in a container that gets a copy of the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

commit=$(head -n 1 core/base/commit.txt)
if [[ $commit == *Format* ]]; then
  commit=${DOPPIO_COMMIT:-}
  # A copy that lies in somebody's repository is not part of it.
  top=$(git rev-parse --show-toplevel 2>/dev/null || true)
  if [[ -z $commit && -n $top && $top -ef . ]]; then
    commit=$(git rev-parse HEAD 2>/dev/null || true)
    if [[ -n $commit && -n $(git status --porcelain --untracked-files=no 2>/dev/null || true) ]]; then
      commit+=+changes
    fi
  fi
fi
echo "STABLE_DOPPIO_COMMIT $commit"
