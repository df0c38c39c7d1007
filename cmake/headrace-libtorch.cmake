# Makes headrace::libtorch: LibTorch's CPU library, c10 and the headers, without its own CMake config,
# which needs nvcc and changes global flags. Looked for in headrace_TORCH_DIR (the folder that holds
# include/ and lib/), then where the machine's python3 has its package `torch`. Leaves the reason in
# _headrace_reason where it is not to be had.
set(headrace_TORCH_DIR "" CACHE PATH "LibTorch: the folder that holds include/ and lib/")
if(NOT headrace_TORCH_DIR)
  execute_process(
    COMMAND python3 -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE _headrace_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
else()
  set(_headrace_torch "${headrace_TORCH_DIR}")
endif()

set(_headrace_series "")
foreach(_headrace_header IN ITEMS torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(NOT _headrace_series AND EXISTS "${_headrace_torch}/include/${_headrace_header}")
    file(STRINGS "${_headrace_torch}/include/${_headrace_header}" _headrace_series
         REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
    list(TRANSFORM _headrace_series REPLACE ".* ([0-9]+)$" "\\1")
    list(JOIN _headrace_series "." _headrace_series)
  endif()
endforeach()

if(NOT EXISTS "${_headrace_torch}/lib/libtorch_cpu.so")
  set(_headrace_reason "needs LibTorch ${_headrace_torch_series} for the component 'torch', \
got none in '${_headrace_torch}'; pass -Dheadrace_TORCH_DIR=DIR, or have a python3 with torch first on PATH")
elseif(NOT _headrace_series STREQUAL _headrace_torch_series)
  set(_headrace_reason "was built for LibTorch ${_headrace_torch_series}, got ${_headrace_series} in \
'${_headrace_torch}'; its C++ interface changes with every release: pass -Dheadrace_TORCH_DIR=DIR of \
that release, or build headrace with this one")
else()
  foreach(_headrace_library IN ITEMS torch_cpu c10)
    add_library(headrace::libtorch_${_headrace_library} SHARED IMPORTED)
    set_target_properties(headrace::libtorch_${_headrace_library} PROPERTIES
      IMPORTED_LOCATION "${_headrace_torch}/lib/lib${_headrace_library}.so")
  endforeach()
  add_library(headrace::libtorch INTERFACE IMPORTED)
  set_target_properties(headrace::libtorch PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
      "${_headrace_torch}/include;${_headrace_torch}/include/torch/csrc/api/include"
    INTERFACE_INCLUDE_DIRECTORIES
      "${_headrace_torch}/include;${_headrace_torch}/include/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES "headrace::libtorch_torch_cpu;headrace::libtorch_c10"
    INTERFACE_LINK_OPTIONS "-Wl,--allow-shlib-undefined")
endif()
