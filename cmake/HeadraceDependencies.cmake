# Libraries from the system. Programs' libraries are asked for only when programs are built.
include_guard(GLOBAL)

# A project that adds this one links our static libraries from its own folder.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
find_package(TBB REQUIRED)
find_package(JPEG REQUIRED)
# libjpeg-turbo's, beside jpeglib.h: where our entropy decoder takes its place.
find_path(HEADRACE_jpegint_INCLUDE jpegint.h HINTS ${JPEG_INCLUDE_DIRS} REQUIRED)
mark_as_advanced(HEADRACE_jpegint_INCLUDE)
find_package(PNG REQUIRED)
find_package(TIFF REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)

# headrace_find(<name> HEADER <file> LIBRARY <name>... [SUFFIXES <folder>...])
# An imported target headrace::<name> over one header and one library, for what ships no CMake file of its own.
function(headrace_find name)
  cmake_parse_arguments(arg "" "HEADER" "LIBRARY;SUFFIXES" ${ARGN})
  find_path(HEADRACE_${name}_INCLUDE ${arg_HEADER} PATH_SUFFIXES ${arg_SUFFIXES} REQUIRED)
  find_library(HEADRACE_${name}_LIBRARY NAMES ${arg_LIBRARY} REQUIRED)
  mark_as_advanced(HEADRACE_${name}_INCLUDE HEADRACE_${name}_LIBRARY)
  add_library(headrace::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(headrace::${name} PROPERTIES
    IMPORTED_LOCATION "${HEADRACE_${name}_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HEADRACE_${name}_INCLUDE}")
endfunction()

headrace_find(deflate HEADER libdeflate.h LIBRARY deflate)
headrace_find(lz4 HEADER lz4.h LIBRARY lz4)
headrace_find(zstd HEADER zstd.h LIBRARY zstd)
headrace_find(szip HEADER szlib.h LIBRARY sz)
# OpenCV's own CMake file belongs to a package that draws in a window system and VTK.
headrace_find(opencv_core HEADER opencv2/core.hpp LIBRARY opencv_core SUFFIXES opencv4)
headrace_find(opencv_imgproc HEADER opencv2/imgproc.hpp LIBRARY opencv_imgproc SUFFIXES opencv4)
headrace_find(opencv_imgcodecs HEADER opencv2/imgcodecs.hpp LIBRARY opencv_imgcodecs SUFFIXES opencv4)
# CMake's module asks for the C language and compiles probes; Debian's serial flavour has fixed names.
headrace_find(hdf5_c HEADER hdf5.h LIBRARY hdf5_serial hdf5 SUFFIXES hdf5/serial)
headrace_find(hdf5_cxx HEADER H5Cpp.h LIBRARY hdf5_serial_cpp hdf5_cpp SUFFIXES hdf5/serial)
find_library(HEADRACE_HDF5_ARCHIVE NAMES libhdf5_serial.a libhdf5.a PATH_SUFFIXES hdf5/serial)
find_library(HEADRACE_HDF5_CXX_ARCHIVE NAMES libhdf5_serial_cpp.a libhdf5_cpp.a PATH_SUFFIXES hdf5/serial)
target_link_libraries(headrace::opencv_imgproc INTERFACE headrace::opencv_core)
target_link_libraries(headrace::opencv_imgcodecs INTERFACE headrace::opencv_core)
target_link_libraries(headrace::hdf5_cxx INTERFACE headrace::hdf5_c)

# Blosc2's C library, from the PyPI wheel in .venv or the system: of the archive nothing is exported, so that its codecs
# stay apart from the system's. Without it the volumes that need it are refused.
find_path(HEADRACE_blosc2_INCLUDE blosc2.h HINTS "${HEADRACE_SITE_PACKAGES}/blosc2/include")
find_library(HEADRACE_blosc2_LIBRARY NAMES libblosc2.a blosc2 HINTS "${HEADRACE_SITE_PACKAGES}/blosc2/lib")
mark_as_advanced(HEADRACE_blosc2_INCLUDE HEADRACE_blosc2_LIBRARY)
if(HEADRACE_blosc2_INCLUDE AND HEADRACE_blosc2_LIBRARY)
  add_library(headrace::blosc2 UNKNOWN IMPORTED GLOBAL)
  set_target_properties(headrace::blosc2 PROPERTIES
    IMPORTED_LOCATION "${HEADRACE_blosc2_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HEADRACE_blosc2_INCLUDE}"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m"
    INTERFACE_LINK_OPTIONS "-Wl,--exclude-libs,ALL")
endif()

find_package(fmt REQUIRED)  # monitor's sentences
if(HEADRACE_APPS OR HEADRACE_TORCH)
  find_package(spdlog REQUIRED)
  find_package(yaml-cpp REQUIRED)
  find_package(CLI11 REQUIRED)
endif()
if(HEADRACE_TORCH)
  # Headers alone, and Boost's beneath them: one source of models/ sees them.
  find_path(HEADRACE_gudhi_INCLUDE gudhi/Bitmap_cubical_complex.h REQUIRED)
  find_path(HEADRACE_boost_INCLUDE boost/intrusive/set.hpp REQUIRED)
  mark_as_advanced(HEADRACE_gudhi_INCLUDE HEADRACE_boost_INCLUDE)
endif()
if(HEADRACE_TESTS)
  find_package(doctest REQUIRED)
endif()
