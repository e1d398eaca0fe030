#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Names of solvers, which rows of tables begin with: no two of them may look alike.
namespace bridgemark {

// Empty, or why a text is no such name: "must be 1 to 80 bytes of ...". A name is a line of UTF-8
// without spaces at its ends, two in a row or of another kind, and without invisible characters.
std::string why_no_name(std::string_view text, std::size_t max_bytes);

// What a reader sees of a name at a glance: equal for names that differ in case, in spaces, hyphens
// and underscores, or in letters that look alike, among them Latin, Greek, Cyrillic, full-width and
// mathematical ones.
std::string look_of(std::string_view name);

}  // namespace bridgemark
