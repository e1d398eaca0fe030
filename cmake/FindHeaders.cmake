# bridgemark_find(PACKAGE TARGET HEADER [DEFINITION...]): the package, else an interface target of
# its headers with these definitions; neither where there are no headers. Also a part of the
# installed package.
function(bridgemark_find package target header)
  find_package(${package} QUIET)
  if(TARGET ${target})
    return()
  endif()
  find_path(${package}_HEADERS ${header} PATH_SUFFIXES eigen3)
  if(NOT ${package}_HEADERS)
    return()
  endif()
  message(STATUS "${package}: headers in ${${package}_HEADERS}")
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${package}_HEADERS})
  target_compile_definitions(${target} INTERFACE ${ARGN})
endfunction()
