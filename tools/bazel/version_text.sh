#!/usr/bin/env bash
# Prints core/base/version_text.h: the version and the commit as the build knows them.
#
#   version_text.sh VERSION_FILE STATUS_FILE
#
# STATUS_FILE is what tools/bazel/status.sh printed, as Bazel keeps it.
set -euo pipefail
version=$(<"$1")
commit=$(sed -n 's/^STABLE_DOPPIO_COMMIT //p' "$2")
cat <<TEXT
#define DOPPIO_VERSION "$version"
#define DOPPIO_COMMIT "$commit"
TEXT
