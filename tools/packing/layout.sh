# shellcheck shell=bash
# Shared by tools/bundle and tools/wheel: builds for other machines than this one, and lays out the libraries in a folder LIB.
#
#   libdoppio.so                             all of Doppio, for the lowest level of CPU
#   glibc-hwcaps/x86-64-v[34]/libdoppio.so   the same for newer CPUs; the loader takes the best that the CPU can do
#   libdoppio_*.so                           code that all levels share
#   libNAME-HASH.so.N                        other libraries that they need; the unique names keep them apart from the
#                                            machine's and from those of other packages in the same process
#
# Sourced in the repository's root, with `set -euo pipefail`.

me=${0##*/}
# Levels of x86-64's psABI, the lowest one last. DOPPIO_LEVELS="v3" builds fewer of them, for a quick trial.
read -r -a levels <<<"${DOPPIO_LEVELS:-v4 v3 v2}"

# portable_build OPTION... TARGET...: builds, quietly unless it fails. DOPPIO_BAZEL_OPTIONS adds options to all builds.
portable_build() {
  local log more
  log=$(mktemp)
  read -r -a more <<<"${DOPPIO_BAZEL_OPTIONS:-}"
  if ! bazel build --config=ci --config=portable "${more[@]}" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "$me: the build failed" >&2
    return 1
  fi
  rm -f "$log"
}

# lay_out_library LIB: builds libdoppio.so for all levels. Later builds must have "${lowest[@]}" among their options.
lay_out_library() {
  local level folder part
  for level in "${levels[@]}"; do
    echo "$me: building for x86-64-$level"
    folder=$1/glibc-hwcaps/x86-64-$level
    [[ $level != "${levels[-1]}" ]] || folder=$1
    portable_build "--copt=-march=x86-64-$level" //tools/packing:libdoppio.so
    install -D -m 755 bazel-bin/tools/packing/libdoppio.so "$folder/libdoppio.so"
  done
  for part in external/sys/libdoppio_blas.so tools/packing/libdoppio_cuda.so; do
    # A build without CUDA does not need the second one, but an older build may have left it there.
    readelf -d "$1/libdoppio.so" | grep -qF "[${part##*/}]" || continue
    install -m 755 "bazel-bin/$part" "$1/"
  done
  # shellcheck disable=SC2034
  lowest=("--copt=-march=x86-64-${levels[-1]}")
}

# elf_files FOLDER: prints the paths of the programs and libraries below FOLDER, one a line.
elf_files() {
  local file
  find "$1" -type f \( -executable -o -name '*.so*' \) | while read -r file; do
    [[ $(head -c 4 "$file" | tr -d '\0') != $'\x7fELF' ]] || echo "$file"
  done
}

# look_in LIB FILE: makes the loader search LIB first for FILE's libraries. Uses an rpath, because a runpath does not apply to
# the libraries of its libraries.
look_in() {
  patchelf --force-rpath --set-rpath "\$ORIGIN/$(realpath --relative-to="$(dirname "$2")" "$1")" "$2"
}

# foreign_libraries FOLDER: prints the paths of all libraries that the programs and libraries below FOLDER need from outside.
# Leaves out glibc, which must be the machine's, and the C++ runtime, which CUDA's libraries and others share with the process.
foreign_libraries() {
  elf_files "$1" | xargs ldd | awk -v own="$1/" '$3 ~ /^\// && index($3, own) != 1 { print $3 }' | sort -u |
    grep -Ev '/(lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s)|ld-linux[^/]*)\.so' || true
}

# own_name PATH: prints the unique name of a library, e.g. libx-0a1b2c3d.so.1 for libx.so.1.
own_name() {
  local file=${1##*/}
  echo "${file%%.so*}-$(sha256sum "$1" | cut -c1-8).so${file#*.so}"
}

# lay_out_needed ROOT LIB: strips programs and libraries below ROOT, adds what they need to LIB, and makes them find it.
lay_out_needed() {
  local root lib file path rename=() foreign
  root=$(realpath "$1") lib=$(realpath "$2")
  # Found by the rpaths of the build, which look_in changes.
  mapfile -t foreign < <(foreign_libraries "$root")
  # Strip before patchelf: strip may damage what patchelf has written.
  elf_files "$root" | while read -r file; do
    strip --strip-unneeded "$file"
    look_in "$lib" "$file"
  done
  for path in "${foreign[@]}"; do
    file=$lib/$(own_name "$path")
    install -m 755 "$path" "$file"
    strip --strip-unneeded "$file"
    patchelf --set-soname "${file##*/}" "$file"
    look_in "$lib" "$file"
    rename+=(--replace-needed "${path##*/}" "${file##*/}")
  done
  elf_files "$root" | while read -r file; do patchelf "${rename[@]}" "$file"; done
}
