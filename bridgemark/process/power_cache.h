#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace bridgemark {

// What a process keeps of its powers, in bytes: those asked for last. At S = 50 all of them take
// 2.6 MB, at S = 4096 seven fit.
inline constexpr std::size_t kKeptPowerBytes = std::size_t{1} << 30;

// Values by a number, those used last within a limit of bytes; the newest one always. Whoever was
// given a value holds it himself, so that it outlives its place here.
template <typename T>
class PowerCache {
 public:
  explicit PowerCache(std::size_t limit = kKeptPowerBytes) : limit_(limit) {}

  // Null where it is not kept.
  std::shared_ptr<const T> find(int n) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(n);
    if (found == kept_.end()) return nullptr;
    found->second.used = ++clock_;
    return found->second.value;
  }

  // Keeps what was made for n and returns it; where somebody was quicker, his.
  std::shared_ptr<const T> keep(int n, std::shared_ptr<const T> value, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = kept_.try_emplace(n, Kept{std::move(value), bytes, 0});
    place->second.used = ++clock_;
    const std::shared_ptr<const T> result = place->second.value;
    if (is_new) bytes_ += bytes;
    while (bytes_ > limit_ && kept_.size() > 1) drop_oldest();
    return result;
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return kept_.size();
  }

 private:
  struct Kept {
    std::shared_ptr<const T> value;
    std::size_t bytes;
    std::size_t used;
  };

  void drop_oldest() {
    auto oldest = kept_.begin();
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if (it->second.used < oldest->second.used) oldest = it;
    }
    bytes_ -= oldest->second.bytes;
    kept_.erase(oldest);
  }

  std::mutex mutex_;
  std::map<int, Kept> kept_;
  std::size_t limit_, bytes_ = 0, clock_ = 0;
};

}  // namespace bridgemark
