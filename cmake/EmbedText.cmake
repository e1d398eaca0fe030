# embed_text(SOURCE TEXT_FILES VARIABLE) writes SOURCE, a C++ file that defines
# `extern const char VARIABLE[]` of namespace bridgemark with the contents of TEXT_FILES.
function(embed_text source text_files variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${text_files})
  set(content "")
  foreach(text_file IN LISTS text_files)
    file(READ ${text_file} text)
    string(APPEND content "${text}")
  endforeach()
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Made from ${text_files}; do not edit.
namespace bridgemark {
extern const char @variable@[];
const char @variable@[] = R\"embedded(@content@)embedded\";
}  // namespace bridgemark
")
endfunction()
