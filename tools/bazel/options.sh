# Sourced in the repository's root by tools/check and tools/dev, so that both use the same caches. Sets `options`, which
# Bazel gets in every build and test, and `cache`, the folder that holds the disk caches of all states.
options=(--config=ci)
# Warnings are errors for developers and in continuous integration. The compiler of a user may know new warnings.
[[ -z ${DOPPIO_STRICT:-} ]] || options+=(--config=strict)

# The tests' optional data folder.
shared=${DOPPIO_SHARED:-../shared}
[[ -d $shared ]] && options+=("--test_env=DOPPIO_SHARED=$(realpath "$shared")")

# Bazel's cache key covers neither the CPU that -march=native stands for nor the headers of Debian packages. Each state
# of the CPU and of the packages that a build reads gets its own cache, so that no build uses objects of another state.
state=$({
  gcc -march=native -Q --help=target
  "${CC:-gcc}" --version
  tools/setup --list | xargs tools/bazel/package_versions.py
} 2>&1 | cksum | cut -d' ' -f1)
cache=$HOME/.cache/doppio-bazel
options+=("--disk_cache=$cache/$state")
