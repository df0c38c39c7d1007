# shellcheck shell=bash disable=SC2034
# Shared by the scripts; to be sourced.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"
venv="$root/.venv"

say() { printf '[%s] %s\n' "${0##*/}" "$*"; }

# retry <command...>: up to three times, for what comes over the network.
retry() {
  local attempt
  for attempt in 1 2 3; do
    "$@" && return 0
    say "attempt $attempt of 3 failed: $1 ${2:-}"
    sleep $((attempt * 5))
  done
  return 1
}

# One job a core, and 1.5 GB for each.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

# toolkit_has_gone <build folder>: whether the CUDA toolkit that it was configured with is not there any more.
toolkit_has_gone() {
  local name path
  [[ -f "$1/CMakeCache.txt" ]] || return 1
  while IFS='=' read -r name path; do
    if [[ ! -e "$path" || ( $name == *NVCC* && ! -x "$path" ) ]]; then return 0; fi
  done < <(grep -E '^HEADRACE_(NVCC|CUDART|CUDA_INCLUDE|CUDA_HEADERS):[A-Z]+=/' "$1/CMakeCache.txt")
  return 1
}

# configure <preset>: HEADRACE_CMAKE_ARGS may hold more arguments.
configure() {
  mkdir -p build
  local log="build/$1-configure.log" anew=()
  if toolkit_has_gone "build/$1"; then anew=(--fresh); fi
  # shellcheck disable=SC2086
  if ! cmake --preset "$1" "${anew[@]}" ${HEADRACE_CMAKE_ARGS:-} >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
  sed -n '/^-- headrace /,/^-- Configuring done/p' "$log" | sed '$d'
}

# build <preset> [target...]: what the compiler says is shown only if it fails or warns.
build() {
  local preset="$1" log="build/$1-build.log" started=$SECONDS
  shift
  say "building $preset (the log is $log)"
  if ! cmake --build "build/$preset" -j "$(jobs)" ${@:+--target "$@"} >"$log" 2>&1; then
    grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" | tail -n 60
    return 1
  fi
  say "built in $((SECONDS - started)) s"
}

# count_tests <build folder>: "passed failed skipped" over the last ctest run, by test case.
count_tests() {
  awk '
    /^[0-9]+\/[0-9]+ Test: / { summary = 0; good = 0; bad = 0; skip = 0; inside = 1 }
    inside && /^\[doctest\] test cases:/ {
      split($0, part, "|"); split(part[2], ok, " "); split(part[3], no, " ")
      passed += ok[1]; failed += no[1]; good += ok[1]; bad += no[1]; summary = 1
    }
    inside && /^SKIPPED: / { skip++ }
    # Scripts of tests/programs say on their last line what scripts/test says.
    inside && /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { closing = NR; ok[1] = $1 + $5; no[1] = $3 }
    /^<end of output>$/ && closing && closing == NR - 1 {
      passed += ok[1]; failed += no[1]; good += ok[1]; bad += no[1]; summary = 1
    }
    # What its output decides is one case: a planted fault, which some case must find.
    /^Test (Pass|Fail) Reason:$/ { passed -= good; failed -= bad; good = bad = summary = 0 }
    /^Test (Passed\.|Pass Reason:)$/ { if (!summary) passed++; passed -= skip; skipped += skip; inside = 0 }
    /^Test (Failed|Fail Reason:|Timeout)/ || /^Unable to find executable/ {
      if (!bad) failed++
      passed -= skip; skipped += skip; inside = 0
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$1/Testing/Temporary/LastTest.log"
}
