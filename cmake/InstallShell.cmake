# Part of `cmake --install`: manual pages and completions, where man and the shells look for them.
file(MAKE_DIRECTORY "$ENV{DESTDIR}${manuals}")
execute_process(COMMAND "${program}" manual -o "$ENV{DESTDIR}${manuals}" COMMAND_ERROR_IS_FATAL ANY)
foreach(place IN ITEMS
    bash:bash-completion/completions/bridgemark
    zsh:zsh/site-functions/_bridgemark
    fish:fish/vendor_completions.d/bridgemark.fish)
  string(REPLACE ":" ";" place "${place}")
  list(GET place 0 shell)
  list(GET place 1 file)
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY "$ENV{DESTDIR}${data}/${folder}")
  execute_process(COMMAND "${program}" completions ${shell}
    OUTPUT_FILE "$ENV{DESTDIR}${data}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
