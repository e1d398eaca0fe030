#include "bridgemark/io/program/ask_program.h"

#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/program/child_process.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMostPrinted = std::size_t{1} << 28;  // bytes of an answer
constexpr auto kLookInterval = std::chrono::milliseconds(5);

// A folder for what a command prints, which goes with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "bridgemark-ask-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw_file(name, "cannot be made: {}", std::generic_category().message(errno));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

ProgramAnswer ask_program(const std::vector<std::string>& command,
                          const std::function<bool()>& stop) {
  const ScratchFolder scratch;
  const std::filesystem::path out = scratch.path() / "answer.txt",
                              err = scratch.path() / "complaint.txt";
  ChildProcess process("/usr/bin/env", command, out, err);  // env looks in the search path
  std::optional<int> status;
  while (!(status = process.poll())) {
    if (stop && stop()) throw Interrupted("stopped while " + command.front() + " was at work");
    std::this_thread::sleep_for(kLookInterval);
  }
  return {*status, read_file(out, kMostPrinted), last_line(read_file(err, kMostPrinted))};
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line, last;
  while (std::getline(lines, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace bridgemark
