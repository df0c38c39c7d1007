# Installed form: libraries, the public headers under include/headrace, modules and programs.
include_guard(GLOBAL)
include(GNUInstallDirs)

get_property(libraries GLOBAL PROPERTY HEADRACE_LIBRARIES)
get_property(modules GLOBAL PROPERTY HEADRACE_MODULES)
get_property(programs GLOBAL PROPERTY HEADRACE_PROGRAMS)

install(TARGETS ${libraries} ${programs}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/headrace)
foreach(room IN LISTS rooms)
  if(NOT room MATCHES "^(apps|tests|benchmarks)$")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}/"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/headrace/${room}"
      FILES_MATCHING PATTERN "*.h" PATTERN detail EXCLUDE PATTERN torch EXCLUDE)
  endif()
endforeach()
