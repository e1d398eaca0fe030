#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace bridgemark {

// Names that workers, on one machine or on many with a common folder, take one by one. A worker has
// a file of its own in the folder, which it touches while it lives; a claim is a hard link to it
// under the claimed name, so that it is made by one worker alone and its time is the worker's last
// sign of life. A claim that is too old is its dead holder's and may be taken over. The times are
// those of the file system: clocks of machines need not agree.
class ClaimFolder {
 public:
  // Throws FileError where the folder cannot hold hard links or be locked.
  ClaimFolder(const std::filesystem::path& folder, std::chrono::milliseconds stale_after);
  ~ClaimFolder();  // lets go of all claims
  ClaimFolder(const ClaimFolder&) = delete;
  ClaimFolder& operator=(const ClaimFolder&) = delete;

  // A sign of life, by which also the age of others' claims is told; to be given several times
  // within stale_after, by any thread.
  void touch() const;

  // How long before this worker's last sign of life a file of the same file system was written; 0
  // where there is none.
  std::chrono::nanoseconds silence_of(const std::filesystem::path& path) const;

  // Whether the name is this worker's from now on. Names are those of files, without a dot at the
  // start.
  bool take(const std::string& name);

  // Whether it is still this worker's: another one may have taken it for dead.
  bool holds(const std::string& name) const;
  void release(const std::string& name);

  // Removes the claims, whoever's, of names that nobody needs any more.
  void remove_settled(const std::function<bool(const std::string&)>& settled) const;

  // Runs `work` while no other worker does, on any machine.
  void alone(const std::function<void()>& work) const;

 private:
  std::filesystem::path path_of(const std::string& name) const { return folder_ / name; }
  bool link_to(const std::string& name) const;
  bool is_stale(const std::filesystem::path& path) const;
  void sweep_the_dead() const;

  const std::filesystem::path folder_;
  const std::chrono::milliseconds stale_after_;
  const std::filesystem::path own_;
  std::set<std::string> held_;
};

}  // namespace bridgemark
