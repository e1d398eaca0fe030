#include "bridgemark/io/program/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

constexpr int kNotStarted = 127;

int open_for(const std::filesystem::path& path, int flags) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (fd < 0) throw_file(path.string(), "cannot be written: {}", std::strerror(errno));
  return fd;
}

// Whether one of the variables has the name that the inherited one has.
bool is_named_in(std::string_view inherited, const std::vector<std::string>& variables) {
  const std::string_view name = inherited.substr(0, inherited.find('=') + 1);
  return std::ranges::any_of(variables, [&](const std::string& variable) {
    return std::string_view(variable).starts_with(name);
  });
}

int decode(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : kSignalStatus + WTERMSIG(raw); }

}  // namespace

std::string status_text(int status) {
  return status > kSignalStatus ? fmt::format("ended by signal {}", status - kSignalStatus)
                                : fmt::format("ended with status {}", status);
}

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           const std::filesystem::path& out, const std::filesystem::path& err,
                           const std::vector<std::string>& environment) {
  const std::string name = program.string();
  std::vector<char*> argv{const_cast<char*>(name.c_str())}, envp;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  for (const std::string& variable : environment) {
    envp.push_back(const_cast<char*>(variable.c_str()));
  }
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    if (!is_named_in(*inherited, environment)) envp.push_back(*inherited);
  }
  envp.push_back(nullptr);
  const int out_fd = open_for(out, O_TRUNC);
  int err_fd = -1;
  try {
    err_fd = open_for(err, O_APPEND);
  } catch (...) {
    ::close(out_fd);
    throw;
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // Only calls that are safe between fork and exec. A group of its own keeps Ctrl-C for the
    // parent, which passes it on.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kNotStarted);
    dup2(out_fd, STDOUT_FILENO);
    dup2(err_fd, STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(kNotStarted);
  }
  const int error = errno;
  ::close(out_fd);
  ::close(err_fd);
  if (pid_ < 0) {
    throw Error(fmt::format("[run] {} cannot be started: {}", name, std::strerror(error)));
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  int raw = 0;
  waitpid(pid_, &raw, 0);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

std::optional<int> ChildProcess::poll() {
  if (pid_ >= 0) {
    int raw = 0;
    if (waitpid(pid_, &raw, WNOHANG) != pid_) return std::nullopt;
    status_ = decode(raw);
    pid_ = -1;
  }
  return status_;
}

void ChildProcess::terminate() const {
  if (pid_ >= 0) kill(pid_, SIGTERM);
}

}  // namespace bridgemark
