#include "tests/fuzz/fuzz.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "bridgemark/core/error.h"
#include "bridgemark/core/terminal_text.h"

namespace bridgemark::fuzz {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestMessage = 5000;

// What only libraries and compilers say. An input may hold such a word itself and be quoted.
constexpr std::string_view kForeign[] = {
    "exception",        "std::",       "stoi",  "stol",     "stoul",       "stod",
    "basic_string",     "vector::",    "map::", "_M_",      "toml::",      "array::",
    "filesystem error", "bad_",        "regex", "nlohmann", "Error while", "char8_t",
    "invalid_argument", "out_of_range"};

std::string_view input;

[[noreturn]] void fault(const char* what, const char* message) {
  std::fprintf(stderr, "fault: %s: %s\n", what, message);
  std::abort();
}

void judge(std::string_view message) {
  const bool one_line = std::ranges::none_of(
      message, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!one_line) fault("a message must be one line of text", message.data());
  if (message.empty()) fault("a message must say something", "");
  if (message.size() > kLongestMessage) fault("a message must be short", message.data());
  // As a message quotes it: an escape and what follows may make up a word, \x1c and "har8_t".
  const std::string quoted = terminal_text(input, message.npos);
  for (const std::string_view word : kForeign) {
    if (message.find(word) != message.npos && quoted.find(word) == quoted.npos) {
      fault("a message must be in words of our own", message.data());
    }
  }
}

}  // namespace

void attempt(const std::function<void()>& reading) {
  try {
    reading();
  } catch (const Error& error) {
    judge(error.what());
  } catch (const std::exception& error) {
    fault("no Error", error.what());
  }
}

const fs::path& folder() {
  static const fs::path path = [] {
    std::string name = fs::temp_directory_path() / "bridgemark-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) fault("no folder", name.c_str());
    return fs::path(name);
  }();
  return path;
}

fs::path put(const std::string& name, std::string_view bytes) {
  const fs::path path = folder() / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

std::vector<std::string_view> split(std::string_view bytes, std::size_t count) {
  constexpr std::string_view kBetween = "\n%%\n";
  std::vector<std::string_view> files;
  while (files.size() + 1 < count) {
    const std::size_t end = std::min(bytes.find(kBetween), bytes.size());
    files.push_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(bytes.size(), end + kBetween.size()));
  }
  files.push_back(bytes);
  return files;
}

}  // namespace bridgemark::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bridgemark::fuzz;
  input = {reinterpret_cast<const char*>(data), size};
  attempt([] { read(input); });
  return 0;
}
