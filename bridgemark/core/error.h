#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace bridgemark {

// Base of everything the library throws on purpose. The message is one line for the user:
// "[area] argument must ..., got value".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller passed something that is not allowed.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// A file could not be read or written, or does not hold what it should.
class FileError : public Error {
 public:
  using Error::Error;
};

// The device asked for is not there, or this build cannot use it.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// The caller asked for long work to stop; what was done so far is kept.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// One line that is safe to show, whatever it quotes: see terminal_text.
std::string message_text(std::string_view text);

// Throws InvalidArgument with the tag of the area in brackets.
template <typename... Args>
[[noreturn]] void throw_invalid(std::string_view area, fmt::format_string<Args...> format,
                                Args&&... args) {
  throw InvalidArgument(
      message_text(fmt::format("[{}] {}", area, fmt::format(format, std::forward<Args>(args)...))));
}

// Throws FileError; every message about a file starts with its path.
template <typename... Args>
[[noreturn]] void throw_file(std::string_view path, fmt::format_string<Args...> format,
                             Args&&... args) {
  throw FileError(
      message_text(fmt::format("{}: {}", path, fmt::format(format, std::forward<Args>(args)...))));
}

}  // namespace bridgemark
