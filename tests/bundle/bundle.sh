#!/usr/bin/env bash
# Tests of scripts/bundle: bundle.sh <test>. In the environment: SOURCE, BUILD, WORK, SITE (the
# site-packages with torch), TORCH (0 or 1).
set -euo pipefail
base="${HEADRACE_CLEAN_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/fresh-debian/base}"

source "$SOURCE/tests/support/own_mounts.sh"
fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*"; exit 0; }
archive() { ls "$WORK"/made/headrace-*.tar.xz; }
unpack() { rm -rf "$1" && mkdir -p "$1" && tar -C "$1" --strip-components=1 -xJf "$(archive)"; }

test_make() {
  rm -rf "$WORK"
  mkdir -p "$WORK"
  "$SOURCE/scripts/bundle" "$BUILD" "$WORK/made"
  [[ $(stat -c %s "$(archive)") -le $((60 * 1024 * 1024)) ]] || fail "more than 60 MiB"
}

test_contents() {
  unpack "$WORK/looked-at"
  cd "$WORK/looked-at"
  ! find . -name 'libtorch*' -o -name 'libc10*' -o -name 'libc.so*' -o -name '*imgcodecs*' -o -name '*gdal*' | grep . || fail "came in, and must not"
  ! find . -name 'libcu[dbfs]*' -o -name 'libnv*' | grep . || fail "CUDA came in"
  local file
  for file in programs/headrace lib/*.so* lib/headrace/* tests/*; do
    ! readelf -d "$file" | grep -E 'R(UN)?PATH' || fail "$file has a search path of its own"
    [[ "$file" == lib/headrace/* ]] || ! readelf -d "$file" | grep -E 'NEEDED.*lib(cu(da|blas|dnn|fft|file|pti|rand|solver|sparse)|nv)' || fail "$file needs CUDA"
  done
  [[ ! -e tests/headrace_apps_tests ]] || fail "tests that start the program of the build folder came in"
  [[ -x tests/headrace_engine_tests && -x benchmarks/stage_overhead_benchmark ]] || fail "tests or benchmarks are missing"
  [[ -x lib/headrace/headrace-hdf5 ]] || fail "the helper that reads HDF5 files is missing"
  grep -E '^glibc=2\.[0-9]+' lib/requirements || fail "does not say which C library it needs"
  [[ -x gpu-check && -f gpu_check/steps.py && -f benchmarks/twins/run ]] || fail "the check of a GPU is missing"
  compgen -G 'wheels/nvidia_nvjpeg-*.whl' || fail "nvJPEG's wheel is missing"
  [[ "$TORCH" == 0 || -f data/gpu-check/leak/testing.h5 ]] || fail "the small data are missing"
}

# Another folder, an empty environment, no python3: what needs no LibTorch runs, what does says so.
test_elsewhere() {
  local place="$WORK/some where else"
  unpack "$place"
  mkdir -p "$WORK/no-python"
  cd /
  clean() { env -i PATH="$WORK/no-python:/usr/bin:/bin" HEADRACE_PYTHON=/nonexistent/python3 "$@"; }
  clean "$place/headrace" --help >"$WORK/help.txt"
  grep -q train "$WORK/help.txt" || fail "no help"
  clean "$place/run" tests/headrace_engine_tests --test-case='*table*,*Philox*' | tail -n 3
  clean "$place/run" benchmarks/stage_overhead_benchmark 1 >/dev/null
  if [[ "$TORCH" == 1 ]]; then
    local status=0
    clean "$place/headrace" train "$place/configs/glaucoma/full.yaml" 2>"$WORK/no-torch.txt" || status=$?
    [[ $status -eq 4 ]] || fail "without torch a training must end with 4, got $status"
    grep -F "must have the package torch" "$WORK/no-torch.txt" || fail "said: $(cat "$WORK/no-torch.txt")"
  fi
  # A C library that is too old is named, before the loader of programs gives up.
  mkdir -p "$WORK/old-libc"
  printf '#!/bin/sh\necho glibc 2.17\n' >"$WORK/old-libc/getconf"
  chmod +x "$WORK/old-libc/getconf"
  ! env -i PATH="$WORK/old-libc:/usr/bin:/bin" "$place/headrace" --help 2>"$WORK/old.txt" || fail "glibc 2.17 was accepted"
  grep -F "or newer, got 2.17" "$WORK/old.txt" || fail "said: $(cat "$WORK/old.txt")"
}

# In a Debian that has none of our packages; everything of the test lies in its /tmp.
test_clean_debian() {
  [[ $(id -u) -eq 0 ]] || skip "the bundle on a clean Debian needs root"
  own_mounts true || skip "the bundle on a clean Debian needs mount namespaces"
  if [[ ! -e "$base/bin/sh" ]]; then
    command -v debootstrap >/dev/null || skip "the bundle on a clean Debian needs debootstrap, or a root in HEADRACE_CLEAN_ROOT"
    debootstrap --variant=minbase bookworm "$base.new" >"$WORK/debootstrap.log" 2>&1 || skip "debootstrap could not make a clean Debian"
    mv "$base.new" "$base"
  fi
  export base WORK SITE TORCH
  export -f in_clean_debian fail
  export tarball
  tarball=$(archive)
  own_mounts bash -euo pipefail -c in_clean_debian
}

in_clean_debian() {
  local root="$WORK/root"
  mkdir -p "$root"
  trap "umount -R '$root'" EXIT
  mount --bind "$base" "$root"
  mount -t tmpfs tmpfs "$root/tmp"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mkdir "$root/tmp/place" "$root/tmp/bin"
  tar -C "$root/tmp/place" --strip-components=1 -xJf "$tarball"
  inside() { chroot "$root" /usr/bin/env -i HOME=/tmp PATH="/tmp/bin:/usr/bin:/bin" sh -ec "cd /tmp/place; $1"; }
  ! inside 'ls /usr/lib/*/libtbb* /usr/lib/*/libhdf5* /usr/bin/python3 2>/dev/null' || fail "this Debian is not clean"
  inside './headrace --help' >/dev/null
  inside './headrace bench loader configs/loader/table.yaml --batches 30 --set data.rows=100000'
  inside './run tests/headrace_loaders_tests --source-file=*hdf5*,*image_jpeg*' | tail -n 3
  # No CUDA at all: whoever asks for a device is told so.
  inside "./run tests/headrace_augment_tests --test-case='without a device*'" | tail -n 3
  [[ "$TORCH" == 1 ]] || return 0

  # A python3 with torch: this machine's, seen through /tmp.
  local python
  python=$(basename "$(dirname "$SITE")")
  mkdir -p "$root/tmp/python/lib/$python" "$root/tmp/site"
  mount --bind "/usr/lib/$python" "$root/tmp/python/lib/$python"
  mount --bind "$SITE" "$root/tmp/site"
  cp "/usr/bin/$python" "$root/tmp/python/python3"
  cp "$(ldd "/usr/bin/$python" | awk '/libexpat/ { print $3 }')" "$root/tmp/python/"
  printf '#!/bin/sh\nLD_LIBRARY_PATH=/tmp/python PYTHONHOME=/tmp/python PYTHONPATH=/tmp/site exec /tmp/python/python3 "$@"\n' >"$root/tmp/bin/python3"
  chmod +x "$root/tmp/bin/python3"
  inside 'cd /tmp; place/headrace train place/configs/glaucoma/demo.yaml --set data.file=/tmp/place/data/gpu-check/glaucoma-28.h5 --set training.epochs=1 --set training.batch=32'
  inside 'ls /tmp/runs/*/checkpoints/* >/dev/null' || fail "the training left no checkpoint"
  local status=0
  inside './headrace bench loader configs/glaucoma/demo.yaml --set data.file=data/gpu-check/glaucoma-28.h5 --set device=cuda' 2>"$WORK/no-device.txt" || status=$?
  [[ $status -eq 7 ]] || fail "a device that is not there must end with 7, got $status: $(cat "$WORK/no-device.txt")"
  # The check of a GPU: what it would run, and every step's form for a machine without one.
  inside './gpu-check --dry-run' >"$WORK/dry-run.txt"
  ! grep -F '[not run' "$WORK/dry-run.txt" | grep -vE 'compute-sanitizer|ncu|nvidia-smi' || fail "a step of gpu-check cannot run from the bundle"
  status=0
  inside './gpu-check' 2>"$WORK/no-gpu.txt" || status=$?
  [[ $status -eq 7 ]] || fail "gpu-check without a GPU must end with 7, got $status"
  grep -F "cuda:0 was asked for" "$WORK/no-device.txt" || fail "said: $(cat "$WORK/no-device.txt")"
  [[ -n "${WHOLE:-}" ]] || return 0
  # One thread: beside another test, threads that wait for each other made the steps several times slower.
  inside 'OMP_NUM_THREADS=1 ./gpu-check --cpu --output /tmp/check' >"$WORK/check.txt" 2>&1 || fail "$(tail -n 40 "$WORK/check.txt")"
  ! grep -E '^== .*not run' "$WORK/check.txt" || fail "a step of gpu-check has no form for a machine without a GPU"
}

# The same with all steps of gpu-check in their form for the CPU.
test_whole_check() {
  export WHOLE=1
  test_clean_debian
}

declare -F "test_$1" >/dev/null || fail "no test '$1'"
"test_$1"
