#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bridgemark {

inline constexpr int kSignalStatus = 128;  // of a process that a signal ended, plus the signal

// "ended with status 2", "ended by signal 9".
std::string status_text(int status);

// A program run beside this one. It ends with this one, however that ends, so that two never work
// on the same files.
class ChildProcess {
 public:
  // Standard output goes to `out`, which is replaced; standard error is added to `err`. The
  // environment is this one's, with `environment`, of NAME=value, in place of what it has by those
  // names. Throws Error where the program cannot be started.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               const std::filesystem::path& out, const std::filesystem::path& err,
               const std::vector<std::string>& environment = {});
  ~ChildProcess();  // kills what still runs
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t id() const { return pid_; }

  // The exit status once it has ended, 128 + the signal where one ended it.
  std::optional<int> poll();

  // Asks it to stop at its next safe point.
  void terminate() const;

 private:
  pid_t pid_ = -1;  // -1 once it has ended
  int status_ = -1;
};

}  // namespace bridgemark
