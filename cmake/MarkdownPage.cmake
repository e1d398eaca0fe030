# markdown_page(HTML MARKDOWN) writes MARKDOWN as HTML for a section of the report: without its title,
# and without links to other pages of the repository, which are no part of the report. cmark-gfm makes
# it; a machine that lacks it and cannot install it takes NAME.html along CMAKE_PREFIX_PATH, made
# elsewhere (bench/gpu.sh brings it along).
function(markdown_page html markdown)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${markdown})
  find_program(CMARK_GFM cmark-gfm)
  get_filename_component(name ${markdown} NAME_WE)
  if(CMARK_GFM)
    execute_process(COMMAND ${CMARK_GFM} --extension table ${markdown} OUTPUT_VARIABLE text
                    COMMAND_ERROR_IS_FATAL ANY)
  else()
    find_file(made_elsewhere ${name}.html PATH_SUFFIXES bridgemark NO_CACHE)
    if(NOT made_elsewhere)
      message(FATAL_ERROR "cmark-gfm was not found: scripts/install-packages.sh installs it.")
    endif()
    file(READ ${made_elsewhere} text)
  endif()
  string(REGEX REPLACE "^<h1>[^\n]*\n" "" text "${text}")
  string(REGEX REPLACE "<(/?)h2>" "<\\1h3>" text "${text}")
  string(REGEX REPLACE "<a href=\"[^\"]*\\.md[^\"]*\">([^<]*)</a>" "\\1" text "${text}")
  string(REPLACE "<table>" "<div class=\"scroll\"><table>" text "${text}")
  string(REPLACE "</table>" "</table></div>" text "${text}")
  file(WRITE ${html} "${text}")
endfunction()
