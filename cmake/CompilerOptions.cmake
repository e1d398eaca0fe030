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
