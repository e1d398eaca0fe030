#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"

// Ranks that are threads of one process: what needs several of them runs without a launcher.
namespace bridgemark::testing {

// What the threads have in common: where they meet, and what is on its way to rank 0.
class MeetingPoint {
 public:
  explicit MeetingPoint(int count)
      : count_(count), given_(static_cast<std::size_t>(count)), sent_(given_.size()) {}

  // Lays down a pointer, waits for all, calls use(everybody's pointers), and waits for all again.
  template <typename Use>
  void meet(int rank, void* given, Use&& use) {
    given_[static_cast<std::size_t>(rank)] = given;
    wait_for_all();
    use(given_);
    wait_for_all();
  }

  void send(int rank, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    auto& queue = sent_[static_cast<std::size_t>(rank)];
    queue.insert(queue.end(), bytes.begin(), bytes.end());
    changed_.notify_all();
  }

  void receive(int from, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    auto& queue = sent_[static_cast<std::size_t>(from)];
    wait(lock, [&] { return queue.size() >= bytes.size(); });
    std::copy_n(queue.begin(), bytes.size(), bytes.begin());
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
  }

  // Ends the others, who would wait for ever.
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == count_) {
      here_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      wait(lock, [&] { return round_ != round; });
    }
  }

  template <typename Until>
  void wait(std::unique_lock<std::mutex>& lock, Until&& until) {
    changed_.wait(lock, [&] { return failed_ || until(); });
    if (!until()) throw Error("another rank has failed");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int count_, here_ = 0, round_ = 0;
  bool failed_ = false;
  std::vector<void*> given_;
  std::vector<std::vector<std::byte>> sent_;  // by the rank that sends
};

class ThreadRank : public RankGroup {
 public:
  ThreadRank(int rank, int count, std::shared_ptr<MeetingPoint> point)
      : rank_(rank), count_(count), point_(std::move(point)) {}
  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int rank_on_machine() const override { return rank_; }
  int count_on_machine() const override { return count_; }

 private:
  // Each rank begins with its own values, so that sums come in as many orders as there are ranks.
  template <typename Combine>
  void reduce(std::span<double> values, Combine&& combine) {
    std::vector<double> result(values.begin(), values.end());
    point_->meet(rank_, values.data(), [&](const std::vector<void*>& given) {
      for (int i = 1; i < count_; ++i) {
        const auto* other =
            static_cast<const double*>(given[static_cast<std::size_t>((rank_ + i) % count_)]);
        for (std::size_t j = 0; j < result.size(); ++j) result[j] = combine(result[j], other[j]);
      }
    });
    std::ranges::copy(result, values.begin());
  }
  void do_all_max(std::span<double> values) override {
    reduce(values, [](double a, double b) { return std::max(a, b); });
  }
  void do_all_sum(std::span<double> values) override {
    reduce(values, [](double a, double b) { return a + b; });
  }
  void do_broadcast(std::span<std::byte> bytes) override {
    point_->meet(rank_, bytes.data(), [&](const std::vector<void*>& given) {
      if (rank_ != 0) std::memcpy(bytes.data(), given[0], bytes.size());
    });
  }
  void do_send_to_first(std::span<const std::byte> bytes) override { point_->send(rank_, bytes); }
  void do_receive_on_first(int from, std::span<std::byte> bytes) override {
    point_->receive(from, bytes);
  }
  void do_barrier() override {
    point_->meet(rank_, nullptr, [](const std::vector<void*>&) {});
  }

  int rank_, count_;
  std::shared_ptr<MeetingPoint> point_;
};

// Calls body(group) as each of `count` ranks and rethrows the first exception.
inline void on_ranks(int count, const std::function<void(std::shared_ptr<RankGroup>)>& body) {
  const auto point = std::make_shared<MeetingPoint>(count);
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(std::make_shared<ThreadRank>(rank, count, point));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        point->fail();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace bridgemark::testing
