#include "bridgemark/experiment/grid/claimed_queue.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/input_file.h"
#include "bridgemark/io/disk/paths.h"

namespace bridgemark {

namespace {

constexpr int kSignsWithinStale = 10;           // so that a few may be lost or late
constexpr std::uint64_t kMostReason = 1 << 16;  // bytes of a reason that are read
constexpr auto kSharedResultsAge = std::chrono::seconds(60);

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

ClaimedQueue::ClaimedQueue(const GridFolder& folder, const GridAccess& access)
    : access_(access), failed_(folder.path() / "failed"), results_(folder.path() / kResultsJsonl) {
  const bool submits = access.role == GridRole::kSubmitter;
  if (submits && !access.resume) folder.refuse_experiment();
  create_folder(folder.path());
  lock_.emplace(folder.path(), FolderLock::Holders::kMany);
  if (submits) {
    create_folder(folder.slurm());
    submitter_.emplace(folder.slurm());
  }
  folder.open(!submits || access.resume);
  claims_.emplace(folder.path() / "claims", access.stale_after);
  create_folder(failed_);
  signs_ = std::jthread([this](const std::stop_token& stop) {
    give_signs(*claims_, access_.stale_after / kSignsWithinStale, stop);
  });
  agree(folder);
}

// Which experiment the folder holds, and which failures still count. Tasks find both as their
// submitter left them.
void ClaimedQueue::agree(const GridFolder& folder) const {
  if (access_.role == GridRole::kTask) return;
  claims_->alone([&] {
    if (access_.role == GridRole::kSubmitter) return folder.write_experiment_file();
    folder.share_experiment_file(access_.resume);
  });
  if (access_.role == GridRole::kSubmitter || access_.resume) forget_failures();
}

std::filesystem::path ClaimedQueue::failure_file(const std::string& id) const {
  return failed_ / (id + ".txt");
}

void ClaimedQueue::mark_failed(const std::string& id, const std::string& reason) {
  write_file_atomically(failure_file(id), reason);
}

std::optional<std::string> ClaimedQueue::failure(const std::string& id) const {
  const std::filesystem::path file = failure_file(id);
  if (!path_exists(file)) return std::nullopt;
  const InputFile in(file);
  std::string reason(static_cast<std::size_t>(std::min(in.size(), kMostReason)), ' ');
  in.read_at(0, reason.data(), reason.size());
  return reason;
}

void ClaimedQueue::forget_failures() const {
  for (const std::filesystem::path& path : list_folder(failed_)) {
    std::error_code error;  // another worker may forget them, too
    std::filesystem::remove(path, error);
    if (error) throw_file(path.string(), "cannot be removed: {}", error.message());
  }
}

// Workers take turns: none writes the results of all again soon after another one did.
bool ClaimedQueue::wants_results() const {
  if (access_.role != GridRole::kWorker) return access_.role == GridRole::kSubmitter;
  return !path_exists(results_) || claims_->silence_of(results_) >= kSharedResultsAge;
}

void ClaimedQueue::write_results(const std::function<void()>& write) const {
  if (access_.role != GridRole::kTask) claims_->alone(write);
}

void ClaimedQueue::forget(const std::function<bool(const std::string&)>& is_done) const {
  claims_->remove_settled(is_done);
}

}  // namespace bridgemark
