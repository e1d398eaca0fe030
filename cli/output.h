#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

// What the program says: results on standard output, which must arrive, and remarks on standard
// error, which need not.
namespace bridgemark::cli {

void write_output(std::string_view text);
void write_note(std::string_view text);

// Formats to standard output. What cannot be written is found out by finish_output().
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}

// Formats to standard error. Nothing comes of it where that cannot be written: a training goes on.
template <typename... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  write_note(fmt::format(format, std::forward<Args>(args)...));
}

// "1 run", "2 runs".
std::string counted(std::size_t count, std::string_view what);

// Takes the places of standard files that whoever started the program closed, so that no file that
// is opened later becomes one of them. Writes to such a place fail.
void reserve_standard_files();

// The exit status of a command: `status`, or that of bad input, with a line on standard error,
// where its output did not arrive as a whole.
int finish_output(int status);

}  // namespace bridgemark::cli
