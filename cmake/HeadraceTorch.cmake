# LibTorch through imported targets of our own: its CMake config needs nvcc even on a machine
# without CUDA, and changes global flags and architectures.
#   headrace_torch_cpu   torch_cpu + c10: what every program links
#   headrace_torch_cuda  adds the CUDA libraries, kept though no symbol of theirs is named
# Programs link the first and open libtorch_cuda.so when a GPU is asked for: its kernels register
# themselves when it loads, and a CPU run keeps its small footprint.
include_guard(GLOBAL)
if(NOT HEADRACE_TORCH)
  return()
endif()
set(headrace_torch_lib "${HEADRACE_TORCH_DIR}/lib")

function(headrace_torch_import name)
  add_library(headrace::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(headrace::${name} PROPERTIES
    IMPORTED_LOCATION "${headrace_torch_lib}/lib${name}.so")
endfunction()
headrace_torch_import(c10)
headrace_torch_import(torch_cpu)

add_library(headrace_torch_cpu INTERFACE)
target_include_directories(headrace_torch_cpu SYSTEM INTERFACE
  "${HEADRACE_TORCH_DIR}/include" "${HEADRACE_TORCH_DIR}/include/torch/csrc/api/include")
target_link_libraries(headrace_torch_cpu INTERFACE headrace::torch_cpu headrace::c10)
# The wheel finds its own NVIDIA libraries at run time; the linker need not look for them.
target_link_options(headrace_torch_cpu INTERFACE -Wl,--allow-shlib-undefined)
target_compile_definitions(headrace_torch_cpu INTERFACE HEADRACE_TORCH=1)

if(HEADRACE_CUDA AND EXISTS "${headrace_torch_lib}/libtorch_cuda.so")
  headrace_torch_import(c10_cuda)
  add_library(headrace_torch_cuda INTERFACE)
  add_library(headrace::torch_gpu ALIAS headrace_torch_cuda)
  target_link_libraries(headrace_torch_cuda INTERFACE headrace_torch_cpu headrace_cudart
    -Wl,--no-as-needed "${headrace_torch_lib}/libtorch_cuda.so" "${headrace_torch_lib}/libtorch.so" -Wl,--as-needed
    headrace::c10_cuda)
endif()

# One precompiled header for all targets, of what nearly every source includes: the whole <torch/torch.h> would cost
# each of them 5 s more, in which g++ makes anew what torch/nn.h left to instantiate. The warnings belong to it:
# -Wpedantic changes predefined macros, and the compiler refuses a header made under others.
set(headrace_pch_stub "${PROJECT_BINARY_DIR}/headrace_torch_pch.cpp")
if(NOT EXISTS "${headrace_pch_stub}")
  file(WRITE "${headrace_pch_stub}" "// carries the precompiled header\n")
endif()
add_library(headrace_torch_pch OBJECT "${headrace_pch_stub}")
target_link_libraries(headrace_torch_pch PRIVATE headrace_torch_cpu headrace_warnings Threads::Threads)
target_precompile_headers(headrace_torch_pch PRIVATE
  <ATen/Functions.h> <ATen/core/Tensor.h> <torch/nn/module.h>)
target_compile_options(headrace_torch_pch PRIVATE -fpch-preprocess)
set_target_properties(headrace_torch_pch PROPERTIES JOB_POOL_COMPILE headrace_torch)
# g++ never makes the same precompiled header twice: what the compiler's cache knows it by is what it is made of.
set(headrace_pch_sum)
foreach(file IN ITEMS
    "${CMAKE_CURRENT_LIST_FILE}" "${HEADRACE_TORCH_DIR}/include/ATen/Functions.h"
    "${HEADRACE_TORCH_DIR}/include/c10/macros/cmake_macros.h"
    "${HEADRACE_TORCH_DIR}/include/torch/csrc/api/include/torch/version.h")
  file(SHA256 "${file}" hash)
  list(APPEND headrace_pch_sum ${hash})
endforeach()
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/headrace_torch_pch.dir/cmake_pch.hxx.gch.sum" "${headrace_pch_sum}\n")
