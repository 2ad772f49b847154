# shellcheck shell=bash disable=SC2154
# Makes a minimal Debian or Ubuntu in $root and runs commands in it, for the scripts of this folder. Sourced with `set -euo pipefail`.
#
# The caller sets `release`, `mirror` ("" for the archive of this machine's apt) and `keep` ("" or yes), calls
# `check_can_make_systems` and `make_place`, and then uses `root` and the functions below. Tests of the tree itself also set
# `tree`, the repository, and `uncommitted` ("" or yes).

wrong() { # MESSAGE
  echo "tests/fresh/${0##*/}: $1" >&2
  exit 2
}

# Checks for root, debootstrap and further programs, and finds the archive: sets `mirror` and `security`.
check_can_make_systems() { # PROGRAM...
  local program label=Debian
  [[ $(id -u) -eq 0 ]] || wrong "it needs root to make a system of its own; run it with sudo"
  for program in debootstrap unshare "$@"; do
    command -v "$program" >/dev/null || wrong "$program is missing; apt-get install debootstrap util-linux git"
  done
  [[ $release != noble ]] || label=Ubuntu
  [[ -n $mirror ]] || mirror=$(archive_of $label)
  [[ -n $mirror || $release != noble ]] || mirror=http://archive.ubuntu.com/ubuntu
  [[ -n $mirror ]] || wrong "apt has no lists of a Debian archive; run apt-get update, or name one with --mirror=URL"
  security=""
  [[ $release == noble ]] || security=$(archive_of Debian-Security)
}

# Prints the archive's URL. apt knows it, whatever format its sources have.
archive_of() { # LABEL
  # shellcheck disable=SC2016 # apt expands it
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Label: $1" 2>/dev/null |
    awk 'NR == 1'
}

# Sets `place`, a temporary folder, and `root`, the system's folder in it. Both are removed at the end, unless `keep` is set.
make_place() {
  place=$(mktemp -d "${TMPDIR:-/tmp}/doppio-$release.XXXXXX")
  root=$place/root
  running=""
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# shellcheck disable=SC2317 # called by a trap
finish() {
  local status=$?
  trap - EXIT INT TERM HUP
  if [[ -n $running ]]; then
    kill -KILL "$running" 2>/dev/null || true
    wait "$running" 2>/dev/null || true
  fi
  if [[ -n $keep && -d $root ]]; then
    echo "fresh: ${kept:-$release is kept in $root}; the steps' output in $place"
  else
    # Killed processes may take a moment to end.
    for _ in 1 2 3 4 5; do
      rm -rf --one-file-system "$place" 2>/dev/null && break
      sleep 1
    done
  fi
  exit "$status"
}

# Runs a command in separate mount and process namespaces, so that its mounts and processes end with it.
apart() { # COMMAND...
  unshare --mount --pid --fork --kill-child -- "$@" &
  running=$!
  local status=0
  wait "$running" || status=$?
  running=""
  return "$status"
}

# Runs a command inside the system, in FOLDER, with the environment of a new user. If `shared` names a folder, the
# command finds it, read-only, at /srv/shared.
inside() { # FOLDER COMMAND...
  local folder=$1 name proxies=()
  shift
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_CERT; do
    [[ -z ${!name:-} ]] || proxies+=("$name=${!name}")
  done
  apart bash -c '
    set -euo pipefail
    root=$1 shared=$2 folder=$3
    shift 3
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    if [[ -n $shared ]]; then
      mkdir -p "$root/srv/shared"
      mount --bind "$shared" "$root/srv/shared"
      mount -o remount,bind,ro "$root/srv/shared"
    fi
    exec chroot "$root" env -C "$folder" "$@"' inside "$root" "${shared:-}" "$folder" \
    -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${proxies[@]}" "$@" </dev/null
}

# Lets the new system reach the archive like this machine, with the same proxies, time-outs, certificates and passwords.
take_apt_configuration() {
  local components=main
  [[ $release != noble ]] || components="main universe"
  mkdir -p "$root/etc/apt/apt.conf.d" "$root/etc/apt/auth.conf.d" "$root/etc/ssl/certs"
  apt-config dump --format '%f "%v";%n' --no-empty Acquire |
    grep -iE '^Acquire::(http|https|ftp|Retries|Queue|Check-|Max-|Min-|Force)' \
      >"$root/etc/apt/apt.conf.d/99host" || true
  cp -a /etc/apt/auth.conf "$root/etc/apt/" 2>/dev/null || true
  cp -a /etc/apt/auth.conf.d/. "$root/etc/apt/auth.conf.d/" 2>/dev/null || true
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
  rm -f "$root"/etc/apt/sources.list.d/*
  {
    echo "deb $mirror $release $components"
    [[ -z $security ]] || echo "deb $security $release-security main"
  } >"$root/etc/apt/sources.list"
}

# Makes a system with PACKAGES, or copies the folder `system` if that is set.
make_system() { # PACKAGE...
  if [[ -n ${system:-} ]]; then
    cp -a "$system" "$root"
  else
    apart debootstrap --variant=minbase "$release" "$root" "$mirror"
  fi
  take_apt_configuration
  inside / apt-get update -qq
  inside / env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
  # ca-certificates, installed by one of the packages, writes its own file.
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
}

# Fails if `tree` has no commit to take; else prints what take_tree takes.
describe_tree() {
  local commit
  commit=$(git -C "$tree" rev-parse --verify -q --short HEAD) || wrong "$tree is no git repository"
  echo "commit $commit${uncommitted:+ and what is not committed}"
}

# Copies `tree` as it is committed, or with all changes if `uncommitted` is set, to /srv/doppio.
take_tree() {
  rm -rf "$root/srv/doppio"
  mkdir -p "$root/srv/doppio"
  if [[ -z $uncommitted ]]; then
    git -C "$tree" archive HEAD | tar -x -C "$root/srv/doppio"
  else
    (cd "$tree" && git ls-files -z --cached --others --exclude-standard |
      while IFS= read -r -d '' file; do
        [[ ! -e $file ]] || printf '%s\0' "$file"
      done | tar --null -T - -c) | tar -x -C "$root/srv/doppio"
  fi
}

# Runs a step, shows its output and writes it to a file, and adds its time to `table`: with the last line that matches PATTERN,
# or, if it fails, with its last line and the first error. Sets `failed` then.
failed=0
table=()
timed() { # NAME PATTERN COMMAND...
  local name=$1 pattern=$2 log=$place/$1.log begin=$SECONDS status=0 last="" output="" copier="" error=""
  shift 2
  echo "fresh: $name"
  exec {output}> >(exec tee "$log")
  copier=$!
  "$@" >&"$output" 2>&1 || status=$?
  exec {output}>&-
  wait "$copier"
  if [[ $status -eq 0 ]]; then
    last=$(grep -E "$pattern" "$log" | tail -n 1) || true
  else
    # What a compiler reports; else a test.
    error=$({ grep -m 1 -E '^[^ ]+:[0-9]+:[0-9]+: (fatal )?error: ' "$log" || grep -m 1 '^FAILED ' "$log"; } | cut -c1-200) || true
    last="FAILED ($status): $(tail -n 1 "$log")${error:+; $error}"
    failed=1
  fi
  table+=("$(printf 'fresh: %-12s %5d s  %s' "$name" $((SECONDS - begin)) "$last")")
  return "$status"
}

# Runs a step and prints its time and last line; ends the script with the step's output if it fails. The step runs in the
# background, because `set -e` has no effect in a function behind ||.
step() { # NAME COMMAND...
  local name=$1 begun=$SECONDS
  shift
  "$@" >"$place/log" 2>&1 &
  wait "$!" || {
    cat "$place/log" >&2
    echo "fresh: $release: $name FAILED" >&2
    exit 1
  }
  printf 'fresh: %s: %-28s %4d s  %s\n' "$release" "$name" $((SECONDS - begun)) "$(tail -n 1 "$place/log" | cut -c1-120)"
}
