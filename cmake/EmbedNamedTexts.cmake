# embed_named_texts(SOURCE HEADER TYPE FUNCTION FILES) writes SOURCE, a C++ file that defines
# FUNCTION() of HEADER, the names and the contents of FILES as values of TYPE. The texts are ""sv:
# compilers count no further than a quarter of a million characters to find the end of another one.
function(embed_named_texts source header type function files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(entries "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM LAST_ONLY name)
    file(READ ${file} text)
    string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"sv},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Made from ${files}; do not edit.
#include \"@header@\"

namespace bridgemark {

using namespace std::string_view_literals;

std::span<const @type@> @function@() {
  static constexpr @type@ kAll[] = {
@entries@  };
  return kAll;
}

}  // namespace bridgemark
")
endfunction()
