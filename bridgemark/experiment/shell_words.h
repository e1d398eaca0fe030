#pragma once

#include <string>
#include <vector>

namespace bridgemark {

// Words as a command line of a POSIX shell: quoted where it would read more into one than the word.
// Control characters become spaces, so that a line stays one.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace bridgemark
