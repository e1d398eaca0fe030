#include "bridgemark/io/disk/temporaries.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

namespace bridgemark {

namespace {

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t kSuffix = 6;
// Leaves room for the prefix and suffix of the temporary within NAME_MAX = 255.
constexpr std::size_t kMaxStemBytes = 200;

// Files that are written at the same time. A further one is written all the same; only an abrupt
// end would leave its temporary.
constexpr std::size_t kSlots = 64;
std::array<std::atomic<char*>, kSlots> slots{};
// Names of what an end has removed. A signal's handler cannot free them, and the process ends.
std::array<std::atomic<char*>, kSlots> removed{};

// A temporary's name up to its random end.
std::string prefix(std::string_view file) {
  return fmt::format(".{}.tmp-", file.substr(0, kMaxStemBytes));
}

bool is_temporary_of(const std::string& name, std::string_view file) {
  const std::string start = prefix(file);
  return name.starts_with(start) && name.size() == start.size() + kSuffix &&
         name.find_first_not_of(kAlphabet, start.size()) == std::string::npos;
}

// Removes a temporary unless somebody holds its lock.
void remove_if_unheld(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(fd);
}

}  // namespace

std::string temporary_name(std::string_view file) {
  std::random_device device;
  std::string suffix(kSuffix, ' ');
  for (char& c : suffix) c = kAlphabet[device() % kAlphabet.size()];
  return prefix(file) + suffix;
}

void sweep_temporaries(const std::filesystem::path& folder, std::span<const char* const> files) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool stale =
        std::ranges::any_of(files, [&](const char* file) { return is_temporary_of(name, file); });
    if (stale && entry.is_regular_file(ignored)) std::filesystem::remove(entry.path(), ignored);
  }
}

void sweep_unheld_temporaries(const std::filesystem::path& folder, std::string_view file) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const bool ours = is_temporary_of(entry.path().filename().string(), file);
    if (ours && entry.is_regular_file(ignored)) remove_if_unheld(entry.path());
  }
}

RegisteredTemporary::RegisteredTemporary(const std::filesystem::path& path) {
  char* const copy = ::strdup(path.c_str());
  for (std::size_t i = 0; copy != nullptr && i < kSlots; ++i) {
    char* empty = nullptr;
    if (slots[i].compare_exchange_strong(empty, copy)) {
      slot_ = static_cast<int>(i);
      return;
    }
  }
  std::free(copy);
}

RegisteredTemporary::~RegisteredTemporary() {
  if (slot_ >= 0) std::free(slots[static_cast<std::size_t>(slot_)].exchange(nullptr));
}

RegisteredTemporary::RegisteredTemporary(RegisteredTemporary&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

RegisteredTemporary& RegisteredTemporary::operator=(RegisteredTemporary&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

void remove_temporaries() noexcept {
  for (std::size_t i = 0; i < kSlots; ++i) {
    // Taken out, and never given back: the thread that owns it may be stopped in its destructor.
    char* const path = slots[i].exchange(nullptr);
    if (path == nullptr) continue;
    ::unlink(path);
    removed[i] = path;
  }
}

}  // namespace bridgemark
