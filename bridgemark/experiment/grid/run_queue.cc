#include "bridgemark/experiment/grid/run_queue.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/grid/claimed_queue.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"

namespace bridgemark {

namespace {

constexpr int kMostShards = 1 << 20;

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The queue of a process that has the folder alone: every run is its own.
class LocalQueue final : public RunQueue {
 public:
  LocalQueue(const GridFolder& folder, bool resume) {
    if (!resume) folder.refuse_experiment();
    create_folder(folder.path());
    lock_.emplace(folder.path());
    folder.open(resume);
    folder.sweep();
    folder.write_experiment_file();
  }

  bool is_shared() const override { return false; }
  Shard shard() const override { return {}; }
  bool take(const std::string&) override { return true; }
  bool holds(const std::string&) const override { return true; }
  void release(const std::string&) override {}
  void mark_failed(const std::string&, const std::string&) override {}
  std::optional<std::string> failure(const std::string&) const override { return std::nullopt; }
  bool wants_results() const override { return true; }
  void write_results(const std::function<void()>& write) const override { write(); }
  void forget(const std::function<bool(const std::string&)>&) const override {}

 private:
  std::optional<FolderLock> lock_;
};

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

std::unique_ptr<RunQueue> open_queue(const GridFolder& folder, const GridAccess& access) {
  if (access.role == GridRole::kAlone) return std::make_unique<LocalQueue>(folder, access.resume);
  return std::make_unique<ClaimedQueue>(folder, access);
}

}  // namespace bridgemark
