#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "bridgemark/experiment/grid/grid_folder.h"
#include "bridgemark/experiment/grid/run_queue.h"
#include "bridgemark/io/disk/claim_folder.h"
#include "bridgemark/io/disk/folder_lock.h"

namespace bridgemark {

// The queue of workers that share a grid's folder, on one machine or many, and of a submitter,
// which watches them. In the folder are besides
//   claims/ID       of a run that a worker has, see claim_folder.h
//   failed/ID.txt   why a run failed, so that no other worker tries it again
// A thread of its own gives the signs of life, whatever the worker is at.
class ClaimedQueue final : public RunQueue {
 public:
  ClaimedQueue(const GridFolder& folder, const GridAccess& access);

  bool is_shared() const override { return true; }
  Shard shard() const override { return access_.shard; }

  bool take(const std::string& id) override { return claims_->take(id); }
  bool holds(const std::string& id) const override { return claims_->holds(id); }
  void release(const std::string& id) override { claims_->release(id); }

  void mark_failed(const std::string& id, const std::string& reason) override;
  std::optional<std::string> failure(const std::string& id) const override;

  bool wants_results() const override;
  void write_results(const std::function<void()>& write) const override;
  void forget(const std::function<bool(const std::string&)>& is_done) const override;

 private:
  void agree(const GridFolder& folder) const;
  void forget_failures() const;
  std::filesystem::path failure_file(const std::string& id) const;

  const GridAccess access_;
  const std::filesystem::path failed_, results_;
  std::optional<FolderLock> lock_, submitter_;  // beside workers; alone in submitting
  std::optional<ClaimFolder> claims_;
  std::jthread signs_;  // ends before the claims do
};

}  // namespace bridgemark
