# Options, the build type, and where the toolkits are looked for.
include_guard(GLOBAL)

# The environment that scripts/setup makes; a parent project may point elsewhere.
file(GLOB headrace_site LIST_DIRECTORIES true
     "${CMAKE_CURRENT_SOURCE_DIR}/.venv/lib/python3*/site-packages")
list(POP_BACK headrace_site HEADRACE_SITE_PACKAGES)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

set(HEADRACE_TORCH_DIR "${HEADRACE_SITE_PACKAGES}/torch" CACHE PATH
    "LibTorch: the folder that holds include/ and lib/")
if(EXISTS "${HEADRACE_TORCH_DIR}/lib/libtorch_cpu.so")
  set(headrace_torch_found ON)
else()
  set(headrace_torch_found OFF)
endif()

find_program(HEADRACE_NVCC nvcc
  HINTS ENV CUDACXX ENV CUDA_HOME
  PATHS /usr/local/cuda "${HEADRACE_SITE_PACKAGES}/nvidia/cu13"
  PATH_SUFFIXES bin
  DOC "The CUDA compiler")
if(DEFINED ENV{CUDACXX} AND EXISTS "$ENV{CUDACXX}")
  set(HEADRACE_NVCC "$ENV{CUDACXX}" CACHE FILEPATH "The CUDA compiler" FORCE)
endif()
if(CMAKE_CUDA_COMPILER OR HEADRACE_NVCC)
  set(headrace_cuda_found ON)
else()
  set(headrace_cuda_found OFF)
endif()

set(HEADRACE_CUDA AUTO CACHE STRING "Build the device code: ON (needs nvcc), OFF, or AUTO, where nvcc is found")
if(HEADRACE_CUDA STREQUAL AUTO)  # asked anew every time: a machine may get a GPU
  set(HEADRACE_CUDA ${headrace_cuda_found})
endif()
option(HEADRACE_TORCH "Build the rooms that need LibTorch" ${headrace_torch_found})
option(HEADRACE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(HEADRACE_BENCHMARKS "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(HEADRACE_APPS "Build the program headrace" ${PROJECT_IS_TOP_LEVEL})
if(CMAKE_BUILD_TYPE STREQUAL Debug)
  option(HEADRACE_UNITY "Compile the files of a folder together, some at a time" OFF)
else()
  option(HEADRACE_UNITY "Compile the files of a folder together, some at a time" ON)
endif()
option(HEADRACE_WHOLE_FOLDERS "All files of a folder together: the quickest to build once, the slowest after a change" OFF)
option(HEADRACE_FUZZ "Build the fuzzers (clang; preset fuzz)" OFF)
option(HEADRACE_WERROR "Treat warnings as errors" OFF)
set(HEADRACE_SANITIZE "" CACHE STRING "Sanitizers: address;undefined or thread")
if(CMAKE_CUDA_ARCHITECTURES)
  set(headrace_architectures "${CMAKE_CUDA_ARCHITECTURES}")
else()
  set(headrace_architectures all-major)
endif()
set(HEADRACE_DEVICE_ARCHITECTURES "${headrace_architectures}" CACHE STRING
    "Device code to make, as CMAKE_CUDA_ARCHITECTURES; default: every GPU that nvcc knows, and later ones")

if(HEADRACE_CUDA AND NOT headrace_cuda_found)
  message(FATAL_ERROR "[headrace] HEADRACE_CUDA is ON: no nvcc on PATH, in CUDACXX, CUDA_HOME, "
                      "/usr/local/cuda or .venv; run scripts/setup --cuda or pass -DHEADRACE_CUDA=OFF")
endif()
if(HEADRACE_TORCH AND NOT headrace_torch_found)
  message(FATAL_ERROR "[headrace] HEADRACE_TORCH is ON: no LibTorch in '${HEADRACE_TORCH_DIR}'; "
                      "run scripts/setup or pass -DHEADRACE_TORCH_DIR=DIR")
endif()

function(headrace_summary)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  message(STATUS "headrace ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, C++ ${CMAKE_CXX_COMPILER_VERSION}")
  if(HEADRACE_CUDA)
    message(STATUS "  CUDA      ${CMAKE_CUDA_COMPILER_VERSION} for ${HEADRACE_DEVICE_ARCHITECTURES}")
  else()
    message(STATUS "  CUDA      off: no device code; scripts/setup --cuda brings a toolkit for it")
  endif()
  if(HEADRACE_TORCH)
    message(STATUS "  LibTorch  ${HEADRACE_TORCH_DIR}")
  else()
    message(STATUS "  LibTorch  off: engine, loaders, augment and monitor only")
  endif()
  if(HEADRACE_SANITIZE)
    message(STATUS "  sanitize  ${HEADRACE_SANITIZE}")
  endif()
endfunction()
