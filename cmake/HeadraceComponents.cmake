# What an embedder links: headrace::core, image, hdf5, cuda, torch, training and so on. Inside a build
# they are other names for the rooms; installed, each is one shared library made of the rooms' objects,
# which exports the public names alone and needs nothing to be found but what its headers show (LibTorch).
include_guard(GLOBAL)
include(GNUInstallDirs)

# What of loaders/ brings libraries of its own: each is a component, of the objects headrace_loaders_<name>. The
# others are core, which should use none of these (a test finds public names that are in two libraries).
set(headrace_loader_components image hdf5 audio)
set(headrace_component_names core ${headrace_loader_components} cuda torch training app)
option(HEADRACE_INSTALL "Build the installed form, one shared library a component" ${PROJECT_IS_TOP_LEVEL})

# headrace_component_alias(<name> <room>...): headrace::<name> for this build.
function(headrace_component_alias name)
  add_library(headrace_component_${name} INTERFACE)
  add_library(headrace::${name} ALIAS headrace_component_${name})
  target_link_libraries(headrace_component_${name} INTERFACE ${ARGN})
endfunction()

headrace_component_alias(core headrace::engine headrace::loaders headrace::augment headrace::monitor)
foreach(folder IN LISTS headrace_loader_components)
  headrace_component_alias(${folder} headrace::core)
endforeach()
if(PROJECT_IS_TOP_LEVEL)  # tests of ours write files with the library itself
  target_link_libraries(headrace_component_hdf5 INTERFACE headrace::hdf5_cxx)
endif()
if(HEADRACE_CUDA)
  headrace_component_alias(cuda headrace::core)
endif()
if(HEADRACE_TORCH)
  headrace_component_alias(torch headrace::core headrace::engine_torch)
endif()  # headrace::training is the room itself

# headrace_component(<name> OBJECTS <expression>... ROOMS <target>... [NEEDS <component>...] [TORCH])
# The shared library libheadrace_<name>. OBJECTS are object files of the rooms; what the rooms link
# beside rooms is linked privately, and kept only where it is needed.
function(headrace_component name)
  cmake_parse_arguments(arg "TORCH" "" "OBJECTS;ROOMS;NEEDS" ${ARGN})
  set(target headrace_shared_${name})
  add_library(${target} SHARED ${arg_OBJECTS})
  list(TRANSFORM arg_NEEDS PREPEND headrace_shared_ OUTPUT_VARIABLE needs)
  set(libraries)
  foreach(room IN LISTS arg_ROOMS)
    get_target_property(of_room headrace_${room} HEADRACE_OUTSIDE)
    list(APPEND libraries ${of_room})
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  set(map "${PROJECT_SOURCE_DIR}/cmake/headrace.map")
  # Last, what loaders/ shares below its public names: each library that needs it has a copy of its own.
  # (After libstdc++, since the archive has some of its templates too.)
  target_link_libraries(${target} PUBLIC ${needs}
    PRIVATE stdc++ $<TARGET_FILE:headrace_loaders> ${libraries} Threads::Threads)
  add_dependencies(${target} headrace_loaders)
  if(arg_TORCH)
    target_link_libraries(${target} PRIVATE headrace_torch_cpu
                          INTERFACE $<INSTALL_INTERFACE:headrace::libtorch>)
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "${headrace_torch_lib}")
  endif()
  target_link_options(${target} PRIVATE -Wl,--as-needed "-Wl,--version-script=${map}")
  if(NOT arg_TORCH AND NOT HEADRACE_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME headrace_${name} EXPORT_NAME ${name} LINK_DEPENDS "${map}"
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  set_property(GLOBAL APPEND PROPERTY HEADRACE_COMPONENTS ${name})
endfunction()

# Called when the rooms are there.
function(headrace_components)
  if(NOT HEADRACE_INSTALL OR HEADRACE_SANITIZE OR NOT TARGET headrace_loaders)
    return()
  endif()
  headrace_component(core ROOMS engine augment monitor loaders
    OBJECTS $<TARGET_OBJECTS:headrace_engine> $<TARGET_OBJECTS:headrace_augment>
            $<TARGET_OBJECTS:headrace_monitor> $<TARGET_OBJECTS:headrace_loaders_core>)
  foreach(name IN LISTS headrace_loader_components)
    headrace_component(${name} ROOMS loaders NEEDS core OBJECTS $<TARGET_OBJECTS:headrace_loaders_${name}>)
  endforeach()
  if(HEADRACE_TORCH)
    headrace_component(torch TORCH ROOMS engine_torch NEEDS core
      OBJECTS $<TARGET_OBJECTS:headrace_engine_torch>)
    headrace_component(training TORCH ROOMS models training NEEDS torch core
      OBJECTS $<TARGET_OBJECTS:headrace_models> $<TARGET_OBJECTS:headrace_training>)
  endif()
  if(TARGET headrace_apps_torch)
    headrace_component(app TORCH ROOMS app_support apps apps_torch NEEDS training torch image hdf5 core
      OBJECTS $<TARGET_OBJECTS:headrace_app_support> $<TARGET_OBJECTS:headrace_app_steering> $<TARGET_OBJECTS:headrace_apps>
              $<TARGET_OBJECTS:headrace_apps_torch>)
  endif()
endfunction()
