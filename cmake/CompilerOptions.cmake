# One interface target that carries the flags of every object in the project.
add_library(bridgemark_options INTERFACE)
target_compile_options(bridgemark_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
  # A fused multiply-add rounds once where two operations round twice. Without contraction a pair
  # regenerates bit for bit on every machine; kernels ask for a fused operation where they want one.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(BRIDGEMARK_WERROR)
  target_compile_options(bridgemark_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(BRIDGEMARK_SANITIZE)
  target_compile_options(bridgemark_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(bridgemark_options INTERFACE -fsanitize=address,undefined)
endif()
if(BRIDGEMARK_SANITIZE_THREADS)
  target_compile_options(bridgemark_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(bridgemark_options INTERFACE -fsanitize=thread)
endif()
# What reads the bytes of others, and the program, are built with checks of the stack and of copies,
# and linked so that nothing of their tables can be written later. Kernels read checked arrays alone
# and keep their speed. Sanitizers bring checks of their own.
if(BRIDGEMARK_SANITIZE OR BRIDGEMARK_SANITIZE_THREADS)
  set(BRIDGEMARK_HARDENING "")
else()
  set(BRIDGEMARK_HARDENING -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(bridgemark_options INTERFACE -Wl,-z,relro,-z,now)
  endif()
endif()
