#pragma once

#include <cstddef>
#include <string_view>

namespace bridgemark {

// The bytes of the character of valid UTF-8 that the text begins with; 0 where there is none.
std::size_t utf8_character(std::string_view text, char32_t& character);

// What shows nothing of its own or changes how its neighbours look: characters of no width, those
// that turn the direction of writing, selectors, tags and combining marks.
bool is_invisible(char32_t character);

}  // namespace bridgemark
