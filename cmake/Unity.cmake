# compile_together(TARGET FOLDER NAME): the target's sources in a folder, eight at a time as one file, so that what they
# include is read once. Such a file is of one floor, so names in unnamed namespaces must differ within a floor. That
# each source has the includes it needs is seen by the build without it (preset tsan).
#
# The files lie at the same place of every build folder, also where the library is a part of another project: ccache
# compiles them once for all. CMake's own UNITY_BUILD does not do that, and leaves out sources with options.
function(compile_together target folder name)
  get_target_property(sources ${target} SOURCES)
  get_target_property(home ${target} SOURCE_DIR)
  set(together "")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${home}")
    cmake_path(IS_PREFIX folder "${source}" inside)
    if(inside AND source MATCHES "\\.cc$")
      list(APPEND together "${source}")
    endif()
  endforeach()
  if(NOT together)
    return()
  endif()
  # Options are those of the whole folder.
  list(GET together 0 first)
  get_source_file_property(options "${first}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
  set_source_files_properties(${together} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
  set(group 0)
  while(together)
    list(SUBLIST together 0 8 members)
    list(REMOVE_ITEM together ${members})
    list(JOIN members "\"\n#include \"" includes)
    set(file "${CMAKE_BINARY_DIR}/generated/unity/${target}_${name}_${group}.cc")
    file(CONFIGURE OUTPUT "${file}" CONTENT "#include \"${includes}\"\n")
    target_sources(${target} PRIVATE "${file}")
    if(options)
      set_source_files_properties("${file}" TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
    math(EXPR group "${group} + 1")
  endwhile()
endfunction()
