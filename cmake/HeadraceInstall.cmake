# Installed form: a shared library a component, public headers under include/headrace, a package for
# CMake and files for pkg-config, all free of absolute paths; and the programs with their modules.
include_guard(GLOBAL)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY HEADRACE_MODULES)
get_property(programs GLOBAL PROPERTY HEADRACE_PROGRAMS)
get_property(components GLOBAL PROPERTY HEADRACE_COMPONENTS)
if(NOT components)
  return()
endif()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/headrace")
set(made "${PROJECT_BINARY_DIR}/package")

if(programs)
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT headrace_programs)
endif()
get_property(helpers GLOBAL PROPERTY HEADRACE_HELPERS)
if(helpers)
  install(TARGETS ${helpers} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/headrace COMPONENT headrace_libraries)
endif()
install(TARGETS ${modules} COMPONENT headrace_libraries
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/headrace)

foreach(room IN LISTS rooms)
  set(others PATTERN detail EXCLUDE PATTERN internal EXCLUDE)
  if(room STREQUAL engine)
    list(APPEND others PATTERN torch EXCLUDE)
  endif()
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}/" COMPONENT headrace_libraries
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/headrace/${room}"
    FILES_MATCHING PATTERN "*.h" ${others})
endforeach()

# Of the programs' rooms what a job outside needs.
if("app" IN_LIST components)
  foreach(header IN ITEMS
      program/job_program_torch
      config/document config/fields config/fields_inline config/units config/values
      feed/data_part feed/loader_job feed/loader_settings feed/planned_source
      job/goal_settings job/job job/stage_torch job/training_settings
      run/count_heap run/heap_meter)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/apps/${header}.h" COMPONENT headrace_libraries
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/headrace/apps/${folder}")
  endforeach()
endif()

foreach(component IN LISTS components)
  install(TARGETS headrace_shared_${component} EXPORT headrace_${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT headrace_libraries)
  install(EXPORT headrace_${component} FILE headrace-${component}-targets.cmake
    NAMESPACE headrace:: DESTINATION ${package_dir} COMPONENT headrace_libraries)
endforeach()

# Device code is a module that core opens; the component says that it is there.
set(HEADRACE_COMPONENTS_BUILT ${components})
if(HEADRACE_CUDA)
  list(APPEND HEADRACE_COMPONENTS_BUILT cuda)
endif()
set(HEADRACE_TORCH_SERIES "")
if(HEADRACE_TORCH)
  set(version_header "${HEADRACE_TORCH_DIR}/include/torch/headeronly/version.h")
  if(NOT EXISTS "${version_header}")  # before LibTorch 2.9
    set(version_header "${HEADRACE_TORCH_DIR}/include/torch/csrc/api/include/torch/version.h")
  endif()
  file(STRINGS "${version_header}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
  list(TRANSFORM lines REPLACE ".* ([0-9]+)$" "\\1")
  list(JOIN lines "." HEADRACE_TORCH_SERIES)
endif()
configure_package_config_file(cmake/headrace-config.cmake.in "${made}/headrace-config.cmake"
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${made}/headrace-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${made}/headrace-config.cmake" "${made}/headrace-config-version.cmake"
              cmake/headrace-libtorch.cmake
  DESTINATION ${package_dir} COMPONENT headrace_libraries)

# headrace.pc is core; headrace-image.pc and so on stand on it.
file(RELATIVE_PATH HEADRACE_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
foreach(component IN LISTS components)
  if(component MATCHES "^(torch|training|app)$")  # LibTorch has no file for pkg-config
    continue()
  endif()
  set(HEADRACE_PC_LIBRARY headrace_${component})
  set(HEADRACE_PC_NAME headrace-${component})
  set(HEADRACE_PC_REQUIRES headrace)
  if(component STREQUAL core)
    set(HEADRACE_PC_NAME headrace)
    set(HEADRACE_PC_REQUIRES "")
  endif()
  configure_file(cmake/headrace.pc.in "${made}/${HEADRACE_PC_NAME}.pc" @ONLY)
  install(FILES "${made}/${HEADRACE_PC_NAME}.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT headrace_libraries)
endforeach()
