#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "bridgemark/core/error.h"

namespace bridgemark::testing {

// Plain reads and writes, independent of the code under test.
inline void put(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.good());
}

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The message of the E that `body` must throw: one line of printable text.
template <typename E = FileError, typename Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const E& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 4096u);
    return message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw another type: " << error.what();
    return "";
  }
  ADD_FAILURE() << "threw nothing";
  return "";
}

inline bool contains(std::string_view text, std::string_view part) {
  const bool found = text.find(part) != std::string_view::npos;
  if (!found) ADD_FAILURE() << "'" << part << "' is not in: " << text;
  return found;
}

// Damaged input may load or be refused with a FileError; returns whether it loaded. Anything else
// thrown fails the test, and a crash or a bad access is the sanitizers' to catch.
template <typename Body>
bool loads(Body&& body) {
  try {
    body();
    return true;
  } catch (const FileError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw another type: " << error.what();
  }
  return false;
}

}  // namespace bridgemark::testing
