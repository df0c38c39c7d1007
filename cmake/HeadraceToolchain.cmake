# Language level, speed-ups for the build itself, sanitizers, and the include folder.
include_guard(GLOBAL)
include(CheckLinkerFlag)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
find_package(Threads REQUIRED)

# Translation units with LibTorch take over 1 GB each, so does a link with it.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS headrace_torch=2)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set_property(GLOBAL APPEND PROPERTY JOB_POOLS headrace_link=2)
  set(CMAKE_JOB_POOL_LINK headrace_link)

  find_program(HEADRACE_CCACHE ccache)
  if(HEADRACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths count from the source folder, so that another clone finds what this one compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;\
CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;CCACHE_PCH_EXTSUM=1;\
CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${HEADRACE_CCACHE}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${HEADRACE_CCACHE}")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}=.>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # it would look for garbage a dozen times a file: a tenth of its seconds
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)  # in KiB
  endif()
  # A program takes what it calls, and not all that was compiled together.
  add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-ffunction-sections;-fdata-sections>")
  add_link_options($<$<CONFIG:Release>:-Wl,--gc-sections>)
  check_linker_flag(CXX -fuse-ld=mold HEADRACE_HAS_MOLD)
  if(HEADRACE_HAS_MOLD)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>)
  endif()

  if(HEADRACE_SANITIZE)
    list(JOIN HEADRACE_SANITIZE "," sanitizers)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers}> -fno-omit-frame-pointer -g1
                        $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
    add_link_options(-fsanitize=${sanitizers})
    if("undefined" IN_LIST HEADRACE_SANITIZE)
      # oneTBB's flow graph casts to a task type before it is one.
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
    endif()
  endif()
endif()

# The one include folder: <build>/include/headrace is a link to the source tree.
set(HEADRACE_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${HEADRACE_INCLUDE_DIR}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${HEADRACE_INCLUDE_DIR}/headrace" SYMBOLIC)

add_library(headrace_warnings INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
      -Wcast-align -Wduplicated-cond -Wlogical-op -Wextra-semi -Wsuggest-override)
  if(HEADRACE_WERROR)
    # What g++ 12 guesses about inlined library code is no error: it is often wrong (GCC bug 105651).
    list(APPEND warnings -Werror -Wno-error=restrict -Wno-error=array-bounds
         -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=maybe-uninitialized)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(headrace_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
  else()
    target_compile_options(headrace_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>)
  endif()
endif()
