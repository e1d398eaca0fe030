# embed_text(SOURCE TEXT_FILE VARIABLE) writes SOURCE, a C++ file that defines
# `extern const char VARIABLE[]` of namespace bridgemark with the content of TEXT_FILE.
function(embed_text source text_file variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${text_file})
  file(READ ${text_file} content)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Made from ${text_file}; do not edit.
namespace bridgemark {
extern const char @variable@[];
const char @variable@[] = R\"embedded(@content@)embedded\";
}  // namespace bridgemark
")
endfunction()
