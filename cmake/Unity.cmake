# compile_together(TARGET FOLDER NAME): the target's sources in a folder, eight at a time as one file, so that what they
# include is read once. A group is of one floor, so names in unnamed namespaces must differ within a floor. That each
# file has the includes it needs is seen by the build without it (preset tsan).
function(compile_together target folder name)
  get_target_property(sources ${target} SOURCES)
  get_target_property(home ${target} SOURCE_DIR)
  set(place 0)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${home}")
    cmake_path(IS_PREFIX folder "${source}" inside)
    if(inside AND source MATCHES "\\.cc$")
      math(EXPR group "${place} / 8")
      math(EXPR place "${place} + 1")
      set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${name}_${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
