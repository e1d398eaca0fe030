# embed_experiments(SOURCE FILES) writes SOURCE, a C++ file that defines named_experiments() of
# bridgemark/experiment/named_experiments.h with the names and the contents of FILES.
function(embed_experiments source files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(entries "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM LAST_ONLY name)
    file(READ ${file} text)
    string(APPEND entries "    {\"${name}\", R\"experiment(${text})experiment\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Made from experiments/; do not edit.
#include \"bridgemark/experiment/named_experiments.h\"

namespace bridgemark {

std::span<const NamedExperiment> named_experiments() {
  static constexpr NamedExperiment kAll[] = {
@entries@  };
  return kAll;
}

}  // namespace bridgemark
")
endfunction()
