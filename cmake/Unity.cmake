# compile_together(TARGET PATTERN NAME): sources of the target whose path matches, eight at a time as one file, so that
# what they include is read once. Groups are of one floor, so names in unnamed namespaces must differ within a floor.
# That each file has the includes it needs is seen by builds without it (presets asan-all and tsan).
function(compile_together target pattern name)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(TRANSFORM sources PREPEND "${folder}/" REGEX "^[^/]")
  list(FILTER sources INCLUDE REGEX "${pattern}.*\\.cc$")
  set(place 0)
  foreach(source ${sources})
    math(EXPR group "${place} / 8")
    math(EXPR place "${place} + 1")
    set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${name}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
