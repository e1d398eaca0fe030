// Writes files of results as this version does, with a line for each run:
//
//   rewrite_results FILE...
//
// A file that cannot be read, or whose runs do not belong together, stays as it is.
#include <fmt/format.h>

#include <exception>
#include <filesystem>

#include "bridgemark/experiment/results.h"
#include "bridgemark/io/disk/atomic_file.h"

int main(int count, char** arguments) {
  try {
    for (int i = 1; i < count; ++i) {
      const std::filesystem::path file = arguments[i];
      const std::string text = bridgemark::results_jsonl(bridgemark::load_results(file));
      bridgemark::write_file_atomically(file, text);
      fmt::print("{}: {} bytes\n", file.string(), text.size());
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "rewrite_results: {}\n", error.what());
    return 2;
  }
  return 0;
}
