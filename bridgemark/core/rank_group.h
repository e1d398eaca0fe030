#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bridgemark {

// Processes that hold one model together, each a share of it. All of them ask for the same
// operations in the same order, and each operation waits for all: one that fails has to end the
// others. Operations are asked for from one thread of a process.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  // This process among them, 0..count() - 1.
  virtual int rank() const = 0;
  // How many there are.
  virtual int count() const = 0;
  // The same among those that share this process's machine.
  virtual int rank_on_machine() const = 0;
  // How many share it.
  virtual int count_on_machine() const = 0;

  // Sets each value to the largest of all ranks' values in its place.
  void all_max(std::span<double> values);
  // Sets each value to the sum over all ranks, in an order that the group chooses.
  void all_sum(std::span<double> values);
  // Gives all ranks the bytes that rank 0 has.
  void broadcast(std::span<std::byte> bytes);
  // Hands bytes to rank 0, which receives as many from this rank.
  void send_to_first(std::span<const std::byte> bytes);
  // On rank 0: the bytes that another rank sends.
  void receive_on_first(int from, std::span<std::byte> bytes);
  // Returns once all ranks have come here.
  void barrier() { do_barrier(); }

  // Bytes that this rank has handed to the operations above, or to others that were counted.
  std::uint64_t bytes_exchanged() const { return bytes_exchanged_; }
  // Counts what was exchanged by other means, between devices.
  void count_exchanged(std::uint64_t bytes) { bytes_exchanged_ += bytes; }

 private:
  virtual void do_all_max(std::span<double> values) = 0;
  virtual void do_all_sum(std::span<double> values) = 0;
  virtual void do_broadcast(std::span<std::byte> bytes) = 0;
  virtual void do_send_to_first(std::span<const std::byte> bytes) = 0;
  virtual void do_receive_on_first(int from, std::span<std::byte> bytes) = 0;
  virtual void do_barrier() = 0;

  std::uint64_t bytes_exchanged_ = 0;
};

}  // namespace bridgemark
