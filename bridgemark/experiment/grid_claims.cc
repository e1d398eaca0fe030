#include "bridgemark/experiment/grid_claims.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/input_file.h"
#include "bridgemark/io/disk/paths.h"

namespace bridgemark {

namespace {

constexpr int kMostShards = 1 << 20;
constexpr int kSignsWithinStale = 10;           // so that a few may be lost or late
constexpr std::uint64_t kMostReason = 1 << 16;  // bytes of a reason that are read

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void give_signs(const ClaimFolder& claims, std::chrono::milliseconds between,
                const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any asleep;
  while (!stop.stop_requested()) {
    try {
      claims.touch();
    } catch (const FileError&) {
      // The next sign may get through; if none does, the claims are lost, and that is noticed.
    }
    asleep.wait_for(lock, stop, between, [] { return false; });
  }
}

}  // namespace

Shard parse_shard(const std::string& argument, const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const auto number = whole_number(std::string_view(text).substr(0, slash));
    const auto count = whole_number(std::string_view(text).substr(slash + 1));
    if (number && count && *number >= 1 && *number <= *count && *count <= kMostShards) {
      return {*number, *count};
    }
  }
  throw_invalid("run", "{} must be I/N with 1 <= I <= N <= {}, got '{}'", argument, kMostShards,
                text);
}

GridClaims::GridClaims(const std::filesystem::path& grid_folder, const Shard& shard,
                       std::chrono::milliseconds stale_after)
    : failed_(grid_folder / "failed"), shard_(shard), claims_(grid_folder / "claims", stale_after) {
  create_folder(failed_);
  signs_ = std::jthread([this, between = stale_after / kSignsWithinStale](std::stop_token stop) {
    give_signs(claims_, between, stop);
  });
}

void GridClaims::reorder(std::vector<const ExperimentRun*>& runs) const {
  const std::size_t first = runs.size() * static_cast<std::size_t>(shard_.number - 1) /
                            static_cast<std::size_t>(shard_.count);
  std::rotate(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(first), runs.end());
}

std::filesystem::path GridClaims::failure_file(const std::string& id) const {
  return failed_ / (id + ".txt");
}

void GridClaims::mark_failed(const std::string& id, const std::string& reason) const {
  write_file_atomically(failure_file(id), reason);
}

std::optional<std::string> GridClaims::failure(const std::string& id) const {
  const std::filesystem::path file = failure_file(id);
  if (!path_exists(file)) return std::nullopt;
  const InputFile in(file);
  std::string reason(static_cast<std::size_t>(std::min(in.size(), kMostReason)), ' ');
  in.read_at(0, reason.data(), reason.size());
  return reason;
}

void GridClaims::forget_failures() const {
  for (const std::filesystem::path& path : list_folder(failed_)) {
    std::error_code error;  // another worker may forget them, too
    std::filesystem::remove(path, error);
    if (error) throw_file(path.string(), "cannot be removed: {}", error.message());
  }
}

}  // namespace bridgemark
