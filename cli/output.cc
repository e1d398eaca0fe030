#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

namespace bridgemark::cli {

namespace {

constexpr int kNotWritten = 2;

int first_error = 0;  // of a write to standard output

}  // namespace

void write_output(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && first_error == 0) {
    first_error = errno != 0 ? errno : EIO;
  }
}

void write_note(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void reserve_standard_files() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open() gives the lowest number that is free.
    if (::fcntl(fd, F_GETFD) == -1) [[maybe_unused]]
      const int taken = ::open("/dev/null", O_RDONLY);
  }
}

int finish_output(int status) {
  std::cout.flush();  // help goes there
  errno = 0;
  if (std::fflush(stdout) != 0 && first_error == 0) first_error = errno != 0 ? errno : EIO;
  if (first_error == 0 && !std::cout.good()) first_error = EIO;
  if (first_error == 0) return status;
  note("bridgemark: standard output cannot be written: {}\n",
       std::generic_category().message(first_error));
  return kNotWritten;
}

}  // namespace bridgemark::cli
