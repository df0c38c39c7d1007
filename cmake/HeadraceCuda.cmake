# Device code: nvcc from the system or from the PyPI packages, always with the shared runtime
# (LibTorch uses the shared one; two runtimes in a process do not see each other's state).
include_guard(GLOBAL)
if(NOT HEADRACE_CUDA)
  if(NOT headrace_cuda_found)
    message(STATUS "[headrace] no nvcc found: host build without device code")
  endif()
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER "${HEADRACE_NVCC}")
endif()
set(CMAKE_CUDA_ARCHITECTURES "${HEADRACE_DEVICE_ARCHITECTURES}")
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)

get_filename_component(headrace_cuda_root "${CMAKE_CUDA_COMPILER}" REALPATH)
get_filename_component(headrace_cuda_root "${headrace_cuda_root}" DIRECTORY)
get_filename_component(headrace_cuda_root "${headrace_cuda_root}" DIRECTORY)
# nvcc links its test programs against <toolkit>/lib64; the PyPI layout has only lib.
if(NOT EXISTS "${headrace_cuda_root}/lib64")
  set(CMAKE_CUDA_FLAGS_INIT "-L${headrace_cuda_root}/lib")
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

# What nvcc itself says: the one on PATH may be a script that starts another.
set(headrace_cuda_root "${CMAKE_CUDA_COMPILER_TOOLKIT_ROOT}")
find_path(HEADRACE_CUDA_INCLUDE cuda_runtime_api.h
  HINTS "${headrace_cuda_root}/include" "${headrace_cuda_root}/targets/x86_64-linux/include" REQUIRED NO_DEFAULT_PATH)
find_library(HEADRACE_CUDART NAMES cudart libcudart.so.13 libcudart.so.12
  HINTS "${headrace_cuda_root}/lib" "${headrace_cuda_root}/lib64"
        "${headrace_cuda_root}/targets/x86_64-linux/lib" REQUIRED NO_DEFAULT_PATH)

add_library(headrace_cudart INTERFACE)
target_include_directories(headrace_cudart SYSTEM INTERFACE "${HEADRACE_CUDA_INCLUDE}")
target_link_libraries(headrace_cudart INTERFACE "${HEADRACE_CUDART}")
# What the engine looks for where the process has not loaded it already.
set(HEADRACE_CUDA_RUNTIME "libcudart.so.${CMAKE_CUDA_COMPILER_VERSION}")
string(REGEX REPLACE "(so[.][0-9]+).*" "\\1" HEADRACE_CUDA_RUNTIME "${HEADRACE_CUDA_RUNTIME}")
