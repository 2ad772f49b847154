#!/usr/bin/env bash
# Prints core/base/version_text.h, which defines the version and the commit of the build.
#
#   version_text.sh VERSION_FILE STATUS_FILE
#
# STATUS_FILE is Bazel's copy of the output of tools/bazel/status.sh.
set -euo pipefail
version=$(<"$1")
commit=$(sed -n 's/^STABLE_DOPPIO_COMMIT //p' "$2")
cat <<TEXT
#define DOPPIO_VERSION "$version"
#define DOPPIO_COMMIT "$commit"
TEXT
