#!/usr/bin/env bash
# Tests of the installed form by outside projects: outside.sh <test>. Where things are is in the
# environment: SOURCE, BUILD, WORK, CXX, CMAKE, CCACHE, PYTHON3, TORCH (empty: none), CUDA (0 or 1).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
installed="$WORK/installed"
# Nothing but what is given here: no search path of the caller's is to help.
unset CMAKE_PREFIX_PATH LD_LIBRARY_PATH PKG_CONFIG_PATH headrace_DIR

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*"; exit 0; }

install_to() { "$CMAKE" --install "$BUILD" --component headrace_libraries --prefix "$1" >"$WORK/install.log"; }

# configure <project> <build folder> [argument...]
configure() {
  local project="$1" folder="$2"
  shift 2
  rm -rf "$folder"
  "$CMAKE" -S "$project" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$CCACHE" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 "$@"
}

# configure_embed <build folder> [argument...]: the example, with LibTorch where this build has it.
configure_embed() { configure "$SOURCE/examples/embed" "$1" -Dheadrace_TORCH_DIR="$TORCH" "${@:2}"; }

# build_and_run <build folder>: both forms of the example.
build_and_run() {
  "$CMAKE" --build "$1" -j 2 --target embed
  "$1/embed"
  [[ -n "$TORCH" ]] || { echo "SKIPPED: embed_torch needs LibTorch"; return 0; }
  "$CMAKE" --build "$1" -j 2 --target embed_torch
  "$1/embed_torch"
}

test_install() {
  rm -rf "$WORK"
  mkdir -p "$WORK"
  install_to "$installed"
  [[ -e "$installed/lib/libheadrace_core.so" ]] || fail "no core library was installed"
}

# Every exported symbol is a public name; the same check must find planted ones.
test_symbols() {
  # Images, tables and operations reach the device and modules through the engine; tests read records.
  local shared header
  for header in engine/device/internal/device_objects engine/device/internal/kernel engine/base/internal/atomic_file \
    engine/base/internal/folder_lock engine/base/internal/open_module engine/base/internal/plain_file \
    engine/base/internal/crc32c engine/base/internal/home_process engine/base/internal/proc_files monitor/detail/event_record \
    monitor/system/detail/watch_pace; do
    shared+=":$here/../../$header.h"
  done
  "$PYTHON3" "$here/symbols.py" "$installed/include$shared" "$installed"/lib/libheadrace_*.so
  cat >"$WORK/leak.cpp" <<'CODE'
namespace headrace::inline v1 {
namespace detail { void secret_of_ours() {} }
struct Nowhere { void declared_in_no_header(); };
void Nowhere::declared_in_no_header() {}
}
void somebody_elses() {}
CODE
  "$CXX" -shared -fPIC -o "$WORK/libleak.so" "$WORK/leak.cpp"
  ! "$PYTHON3" "$here/symbols.py" "$installed/include" "$WORK/libleak.so" >"$WORK/leaks.txt" || fail "planted leaks were not found"
  local name
  for name in secret_of_ours declared_in_no_header somebody_elses; do
    grep -q "$name" "$WORK/leaks.txt" || fail "the planted $name was not found"
  done
}

# Public headers only, which compile with nothing but the installed tree, in either order: one that
# forgets an include is found unless its neighbours on both sides bring it.
test_headers() {
  ! find "$installed/include" -path '*/detail/*' -o -path '*/internal/*' | grep . || fail "headers of detail/ or internal/ were installed"
  ! grep -rnE '#include <headrace/([a-z0-9_]+/)+(detail|internal)/' "$installed/include" || fail "a public header includes one that is not"
  (cd "$installed/include" && find headrace -name '*.h' | sort) >"$WORK/headers.txt"
  (cd "$installed/include" && xargs grep -lE '#include <(torch|ATen|c10)/|<headrace/(models|training|engine/torch)/' <"$WORK/headers.txt" || true) >"$WORK/torch_headers.txt"
  local order
  for order in sort "sort -r"; do
    # shellcheck disable=SC2086
    grep -vxFf "$WORK/torch_headers.txt" "$WORK/headers.txt" | $order | sed 's/.*/#include <&>/' >"$WORK/plain_headers.cpp"
    "$CXX" -std=c++20 -fsyntax-only -Wall -Wextra -I"$installed/include" "$WORK/plain_headers.cpp"
  done
  if [[ -n "$TORCH" ]]; then
    sed 's/.*/#include <&>/' "$WORK/torch_headers.txt" >"$WORK/torch_headers.cpp"
    "$CXX" -std=c++20 -fsyntax-only -I"$installed/include" -isystem "$TORCH/include" \
      -isystem "$TORCH/include/torch/csrc/api/include" "$WORK/torch_headers.cpp"
  fi
  echo "$(wc -l <"$WORK/headers.txt") headers"
}

# Nothing that was installed names the build, the source or the place of installation.
test_relocatable() {
  local path
  for path in "$BUILD" "$SOURCE/cmake" "$SOURCE/engine" "$installed"; do
    ! grep -rl --include='*.cmake' --include='*.pc' --include='*.h' -F "$path" "$installed" || fail "names $path"
  done
  local library
  for library in "$installed"/lib/*.so "$installed"/lib/headrace/*.so; do
    ! readelf -d "$library" | grep -E 'R(UN)?PATH' | grep -F "$BUILD" || fail "$library: search path in the build"
    ! strings "$library" 2>/dev/null | grep -F "$BUILD/" || fail "$library: names the build"
  done
}

# No library of ours lists a CUDA library among what it needs, and no program either; the device module
# lists one.
test_needs_no_cuda() {
  local file
  for file in "$installed"/lib/*.so "$BUILD"/apps/headrace*; do
    [[ -f "$file" ]] || continue
    ! readelf -d "$file" 2>/dev/null | grep -E 'NEEDED.*\[lib(cu(da|blas|dnn|fft|file|pti|rand|solver|sparse)|nv)' || fail "$file needs CUDA"
  done
  [[ "$CUDA" == 1 ]] || return 0
  readelf -d "$installed/lib/headrace/headrace_cuda.so" | grep -E 'NEEDED.*\[libcudart\.so\.' || fail "the device module uses no shared runtime"
  ! readelf -d "$installed/lib/headrace/headrace_cuda.so" | grep -E 'R(UN)?PATH' || fail "the device module has a search path of its own"
}

# make_runtime <file> <status of counting devices> <version of the driver>: a CUDA runtime that has all names the
# device module asks for, and no device.
make_runtime() {
  local file="$1" module="$installed/lib/headrace/headrace_cuda.so" symbol
  mkdir -p "${file%/*}"
  {
    echo 'static void* nothing;'
    nm -D --undefined-only "$module" | sed -nE "s/.* ([^ @]+)@${file##*/}.*/\1/p" | sort -u | while read -r symbol; do
      case "$symbol" in
        cudaGetErrorString) echo "const char* $symbol(int e) { (void)e; return \"an answer of a made-up runtime\"; }" ;;
        cudaGetDeviceCount) echo "int $symbol(int* count) { *count = 0; return $2; }" ;;
        cudaRuntimeGetVersion) echo "int $symbol(int* version) { *version = 99000; return 0; }" ;;
        cudaDriverGetVersion) echo "int $symbol(int* version) { *version = $3; return 0; }" ;;
        __cudaRegisterFatBinary) echo "void** $symbol(void* binary) { (void)binary; return &nothing; }" ;;
        *) echo "int $symbol(void) { return 35; }" ;;
      esac
    done
  } >"$WORK/made_up.c"
  printf '%s { global: cuda*; __cuda*; local: *; };\n' "${file##*/}" >"$WORK/made_up.map"
  gcc -O1 -fno-builtin -shared -fPIC -nostdlib -Wl,-soname,"${file##*/}" -Wl,--version-script="$WORK/made_up.map" -o "$file" "$WORK/made_up.c"
}

# One installed tree on machines with a driver that is too old, with none, and without any CUDA: it says which runtime
# it took, refuses the device by name, and works on.
test_runtime() {
  local ask="$WORK/build-runtime/ask_for_device" name folder said
  configure "$SOURCE/tests/embedding/ask_for_device" "$WORK/build-runtime" -DCMAKE_PREFIX_PATH="$installed"
  "$CMAKE" --build "$WORK/build-runtime" -j 2
  if [[ "$CUDA" != 1 ]]; then
    "$ask" | grep -F "this build has no device code; run scripts/setup --cuda" || fail "said: $("$ask")"
    return 0
  fi
  name=$(readelf -d "$installed/lib/headrace/headrace_cuda.so" | sed -nE 's/.*NEEDED.*\[(libcudart[^]]*)\].*/\1/p')
  folder="$WORK/some runtime"
  says() { # <expected words>...: of what was said
    local words
    for words in "$@"; do grep -F "$words" <<<"$said" || fail "expected '$words', said: $said"; done
    grep -F "8 batches on the CPU" <<<"$said" || fail "did not work on: $said"
  }
  make_runtime "$folder/$name" 35 12020
  said=$(LD_LIBRARY_PATH="$folder" "$ask")
  says "runtime: $folder/$name (the system's)" "cuda:0 was asked for" "the driver is for CUDA 12.2, the runtime 99.0"
  said=$("$ask" "$folder/$name")
  says "runtime: $folder/$name (loaded already)"
  make_runtime "$folder/$name" 35 0
  said=$(LD_LIBRARY_PATH="$folder" "$ask")
  says "there is no driver: install one, or deliver to the CPU"
  # What follows needs a machine whose system has no CUDA runtime.
  if [[ -e "/usr/local/cuda/lib64/$name" ]] || { /sbin/ldconfig -p || ldconfig -p; } | grep -qF "$name"; then
    echo "the system has $name: not tried without, nor with a Python environment's"
    return 0
  fi
  said=$(env -u VIRTUAL_ENV -u CONDA_PREFIX -u CUDA_HOME -u CUDA_PATH "$ask")
  says "the CUDA runtime $name is needed, none is loaded, nor in the system"
  make_runtime "$WORK/environment/lib/python3.11/site-packages/nvidia/cu${name##*.}/lib/$name" 35 0
  said=$(VIRTUAL_ENV="$WORK/environment" "$ask")
  says "(the Python environment's)"
}

test_installed() {
  configure_embed "$WORK/build-installed" -DCMAKE_PREFIX_PATH="$installed"
  build_and_run "$WORK/build-installed"
}

test_moved() {
  rm -rf "$WORK/before" "$WORK/after"
  install_to "$WORK/before"
  mv "$WORK/before" "$WORK/after"
  configure_embed "$WORK/build-moved" -DCMAKE_PREFIX_PATH="$WORK/after"
  build_and_run "$WORK/build-moved"
  readelf -d "$WORK/build-moved/embed" | grep -F "$WORK/after/lib" >/dev/null || fail "the program does not use the moved tree"
}

# The house as a part of the example's project. The folder is none of $WORK, which another test empties.
configure_subdirectory() {
  configure_embed "$1" -DHEADRACE_SOURCE="$SOURCE" -DHEADRACE_TORCH_DIR="$TORCH" \
    -DHEADRACE_TORCH="$([[ -n "$TORCH" ]] && echo ON || echo OFF)" \
    -DHEADRACE_CUDA="$CUDA" -DHEADRACE_DEVICE_ARCHITECTURES=90 -DHEADRACE_WHOLE_FOLDERS=ON
}
test_subdirectory() {
  configure_subdirectory "$WORK-subdirectory"
  "$CMAKE" --build "$WORK-subdirectory" -j 2 --target headrace_engine
}
test_subdirectory_whole() {
  configure_subdirectory "$WORK-subdirectory-whole"
  build_and_run "$WORK-subdirectory-whole"
}

# A missing component is named with the way out, an optional one only left out.
test_components() {
  local project="$WORK/components"
  mkdir -p "$project"
  cat >"$project/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(components LANGUAGES CXX)
find_package(headrace ${version} REQUIRED COMPONENTS ${wanted} OPTIONAL_COMPONENTS sunshine)
foreach(target IN LISTS targets)
  if(NOT TARGET headrace::${target})
    message(FATAL_ERROR "no target ${target}")
  endif()
endforeach()
foreach(other IN ITEMS TBB HDF5 OpenCV Torch CUDAToolkit)
  if(${other}_FOUND)
    message(FATAL_ERROR "${other} was looked for")
  endif()
endforeach()
PROJECT
  ask() { configure "$project" "$WORK/build-components" -DCMAKE_PREFIX_PATH="$installed" "$@" 2>&1; }
  refused() { # <expected words> <argument...>
    local words="$1" said
    shift
    ! said=$(ask "$@") || fail "accepted: $*"
    tr -s '[:space:]' ' ' <<<"$said" | grep -F "$words" || fail "said: $said"
  }
  ask -Dwanted="core;image;hdf5" -Dtargets="core;image;hdf5"
  ask -Dwanted="core" -Dtargets="core" -Dversion=0.1
  refused "has no component 'video'; there are: core, image, hdf5," -Dwanted="core;video"
  refused 'version "1.0"' -Dwanted=core -Dversion=1.0
  refused 'version "0.0"' -Dwanted=core -Dversion=0.0  # below 1.0 every minor version may change names
  if [[ "$CUDA" == 1 ]]; then
    ask -Dwanted=cuda -Dtargets="core;cuda"
  else
    refused "was built without the component 'cuda'; configure headrace with -DHEADRACE_CUDA=ON" -Dwanted=cuda
  fi
  if [[ -n "$TORCH" ]]; then
    ask -Dwanted="torch;training" -Dtargets="core;torch;training" -Dheadrace_TORCH_DIR="$TORCH"
    ask -Dwanted="app" -Dtargets="core;image;hdf5;torch;training;app" -Dheadrace_TORCH_DIR="$TORCH"
    refused "needs LibTorch" -Dwanted=torch -Dheadrace_TORCH_DIR=/nowhere
    mkdir -p "$WORK/old/lib" "$WORK/old/include/torch/headeronly"
    touch "$WORK/old/lib/libtorch_cpu.so"
    printf '#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 9\n' >"$WORK/old/include/torch/headeronly/version.h"
    refused "got 1.9 in" -Dwanted=torch -Dheadrace_TORCH_DIR="$WORK/old"
  fi
}

# Without CMake: core, image and hdf5 through pkg-config, from a tree that was moved.
test_pkgconfig() {
  command -v pkg-config >/dev/null || skip "needs pkg-config"
  rm -rf "$WORK/pc-before" "$WORK/pc"
  install_to "$WORK/pc-before"
  mv "$WORK/pc-before" "$WORK/pc"
  export PKG_CONFIG_PATH="$WORK/pc/lib/pkgconfig"
  cat >"$WORK/pc.cpp" <<'CODE'
#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/synthetic/synthetic.h>
int main() {
  try {
    headrace::ImageFolder folder("/nowhere");
    return 1;
  } catch (const headrace::ConfigError&) {
  }
  try {
    headrace::Hdf5Table table({.file = "/nowhere", .fields = {{.dataset = "x"}}});
    return 2;
  } catch (const headrace::Error&) {
  }
  auto loader = headrace::Pipeline::from(headrace::SyntheticSource({.rows = 64})).batch({.size = 8}).build();
  int batches = 0;
  for (headrace::Batch& batch : loader.epoch(0)) batches += batch.size() == 8;
  return batches == 8 ? 0 : 3;
}
CODE
  # shellcheck disable=SC2046
  "$CXX" -std=c++20 "$WORK/pc.cpp" -o "$WORK/pc-program" $(pkg-config --cflags --libs headrace-image headrace-hdf5) \
    -Wl,-rpath-link,"$WORK/pc/lib"
  LD_LIBRARY_PATH="$WORK/pc/lib" "$WORK/pc-program" || fail "the program ended with $?"
  [[ "$(pkg-config --modversion headrace)" == "$(sed -nE 's/^project\(headrace VERSION ([0-9.]+).*/\1/p' "$SOURCE/CMakeLists.txt")" ]] || fail "version"
}

test_dlpack() {
  configure "$SOURCE/examples/dlpack" "$WORK/build-dlpack" -DCMAKE_PREFIX_PATH="$installed"
  "$CMAKE" --build "$WORK/build-dlpack" -j 2
  local python="$PYTHON3"
  [[ -z "$TORCH" || ! -x "$TORCH/../../../../bin/python" ]] || python="$TORCH/../../../../bin/python"
  "$python" "$SOURCE/examples/dlpack/batches.py" "$WORK/build-dlpack/libbatches.so"
}

# until_true <words> <command...>: waits until the command succeeds; five minutes at most.
until_true() {
  local words="$1" i
  shift
  for ((i = 0; i < 30000; ++i)); do
    ! "$@" >/dev/null 2>&1 || return 0
    sleep 0.01
  done
  fail "waited in vain for $words"
}

# ended_by <signal> <exit status> <command...>: starts the command, sends it the signal when it has what
# $ready looks for, and wants that status and the command to go on with.
ended_by() {
  local signal="$1" expected="$2" status=0
  shift 2
  "$@" >said.txt 2>&1 &
  local pid=$!
  until_true "$ready" eval "$ready"
  kill -"$signal" "$pid"
  wait "$pid" || status=$?
  [[ "$status" == "$expected" ]] || fail "$signal: ended with $status: $(tail -5 said.txt)"
  grep -q "stopped and saved; to go on: .*spirals train --resume" said.txt || fail "$signal: said $(tail -5 said.txt)"
}

newest() { printf '%s\n' "$1"/checkpoints/run/checkpoint-* | tail -1; }

# refuses <exit status> <words> <argument...>: of the program of a job of one's own.
refuses() {
  local expected="$1" words="$2" status=0
  shift 2
  "$spirals" "$@" >said.txt 2>&1 || status=$?
  [[ "$status" == "$expected" ]] || fail "$*: ended with $status: $(cat said.txt)"
  grep -qF "$words" said.txt || fail "$*: expected '$words', said: $(cat said.txt)"
}

# A job of one's own has what headrace train has: a run that was ended twice and resumed comes to the same bytes.
test_recipe() {
  [[ -n "$TORCH" ]] || skip "needs LibTorch"
  local build="$WORK/build-recipe" ready run file
  spirals="$build/spirals"
  configure "$SOURCE/examples/recipe" "$build" -DCMAKE_PREFIX_PATH="$installed" -Dheadrace_TORCH_DIR="$TORCH"
  "$CMAKE" --build "$build" -j 2
  # Libraries over LibTorch are linked with undefined names allowed: LibTorch's own are such.
  ! ldd -r "$spirals" "$installed"/lib/libheadrace_{training,app}.so 2>&1 | grep -E 'undefined symbol: _Z[A-Z]*(8headrace|3fmt|6spdlog|4YAML|3CLI)' || fail "names are missing"
  rm -rf "$WORK/recipe"
  mkdir -p "$WORK/recipe"
  cd "$WORK/recipe"
  export OMP_WAIT_POLICY=passive
  local train=("$spirals" train "$SOURCE/examples/recipe/spirals.yaml" --set points=40000 --set device=cpu --set threads.torch=1
    --set training.epochs=2 --set training.batch=16 --set training.checkpoint_every=200)

  "$spirals" --help >said.txt
  grep -q "two spirals, told apart" said.txt || fail "help: $(cat said.txt)"
  ! grep -qE "headrace|pack|prepare" said.txt || fail "help names what is not there: $(cat said.txt)"
  refuses 2 "spirals: [config] " train "$SOURCE/examples/recipe/spirals.yaml" --set pionts=3
  refuses 2 "did you mean spirals train?" trian
  refuses 2 "JobConfig::loader_job" bench loader "$SOURCE/examples/recipe/spirals.yaml"
  "${train[@]}" --dry-run >said.txt
  grep -q "activations\|LibTorch" said.txt || fail "dry run: $(cat said.txt)"
  [[ ! -e runs ]] || fail "a dry run made a folder"

  "${train[@]}" --set runs=whole >said.txt 2>&1 || fail "ended with $?: $(cat said.txt)"
  ready='compgen -G "parts/*/checkpoints/run/checkpoint-*"' ended_by TERM 143 "${train[@]}" --set runs=parts
  run=$(echo parts/*)
  ready="grep -q '^0,' $run/metrics.csv" ended_by INT 130 "$spirals" train --resume "$run"
  "$spirals" train --resume "$run" >said.txt 2>&1 || fail "ended with $?: $(cat said.txt)"
  for file in config.yaml command.txt env.json log.txt metrics.csv metrics.jsonl tb/run checkpoints/run/result.json; do
    [[ -s "$run/$file" ]] || fail "the run has no $file: $(ls "$run")"
  done
  for file in best.safetensors result.json; do
    cmp whole/*/checkpoints/run/"$file" "$run/checkpoints/run/$file" || fail "a resumed run came to another $file"
  done
  cmp "$(newest whole/*)" "$(newest "$run")" || fail "a resumed run came to another last checkpoint"

  "$PYTHON3" "$here/spirals.py" make points.npy
  "$spirals" predict --checkpoint "$run/checkpoints/run/best.safetensors" --data points.npy --output points.csv
  "$PYTHON3" "$here/spirals.py" check points.csv
}

# The job of the tutorial in a copy of this tree: lines outside its rooms, its tests, a bench, a training run.
test_tutorial_job() {
  [[ -n "$TORCH" ]] || skip "needs LibTorch"
  local tree="$WORK/house" build="$WORK/build-house" lines
  rm -rf "$tree"
  mkdir -p "$tree"
  tar -C "$SOURCE" --exclude=./build --exclude=./.git --exclude=./.venv --exclude=./data --exclude=./runs -c . | tar -C "$tree" -x
  "$tree/examples/job/add" "$tree"
  lines=$(diff -r -x tones "$SOURCE/apps" "$tree/apps" | grep -c '^>' || true)
  [[ "$lines" -gt 0 && "$lines" -le 3 ]] || fail "$lines lines stand outside the job's rooms"
  export CCACHE_BASEDIR="$WORK" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  configure "$tree" "$build" -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DHEADRACE_TORCH_DIR="$TORCH" -DHEADRACE_WERROR=ON -DHEADRACE_CUDA=OFF \
    -DHEADRACE_INSTALL=OFF -DHEADRACE_BENCHMARKS=OFF
  "$CMAKE" --build "$build" -j 2 --target headrace_programs headrace_apps_tests headrace_train_steps_tests
  "$build/tests/apps/headrace_apps_tests" --source-file='*tones_job_test.cpp,*read_job_test.cpp' | tee "$WORK/tones.txt"
  grep -qE 'test cases: +([5-9]|[1-9][0-9])' "$WORK/tones.txt" || fail "the job's tests did not run"
  "$build/tests/apps/headrace_train_steps_tests" --test-case='no step of a job*'
  cd "$WORK"
  rm -rf runs
  "$build/apps/headrace" bench loader "$tree/configs/tones/demo.yaml"
  "$build/apps/headrace" train "$tree/configs/tones/demo.yaml" --set device=cpu \
    --set 'training.schedule={plateau: {figure: none}}' 2>&1 | tee "$WORK/plateau.txt" && fail "a plateau over no figure is taken"
  grep -q 'plateau.figure" must be one of loss, accuracy, b' "$WORK/plateau.txt" || fail "the figures are not told"
  "$build/apps/headrace" train "$tree/configs/tones/demo.yaml" --set device=cpu
  "$PYTHON3" -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["test"]["accuracy"] < 0.9)' \
    runs/tones-*/checkpoints/run/result.json || fail "the job did not learn"
}

# The reader, the augmentation and the job of the examples stay as short as promised.
test_short_enough() {
  local file class lines
  for file in point_file.h:PointFile jitter.h:Jitter; do
    class="${file#*:}"
    lines=$(awk -v class="$class" '$0 ~ "(class|struct) " class { inside = 1 } inside { n++ } inside && /^};/ { print n; exit }' \
      "$SOURCE/examples/embed/${file%:*}")
    echo "$class: $lines lines"
    [[ "$lines" -gt 0 && "$lines" -lt 20 ]] || fail "$class has $lines lines"
  done
  lines=$(wc -l <"$SOURCE/examples/recipe/main.cpp")
  [[ "$lines" -lt 90 ]] || fail "the recipe has $lines lines"
}

declare -F "test_$1" >/dev/null || fail "no test '$1'"
"test_$1"
