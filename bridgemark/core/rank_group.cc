#include "bridgemark/core/rank_group.h"

namespace bridgemark {

void RankGroup::all_max(std::span<double> values) {
  do_all_max(values);
  bytes_exchanged_ += values.size_bytes();
}

void RankGroup::all_sum(std::span<double> values) {
  do_all_sum(values);
  bytes_exchanged_ += values.size_bytes();
}

void RankGroup::broadcast(std::span<std::byte> bytes) {
  do_broadcast(bytes);
  bytes_exchanged_ += bytes.size();
}

void RankGroup::send_to_first(std::span<const std::byte> bytes) {
  do_send_to_first(bytes);
  bytes_exchanged_ += bytes.size();
}

void RankGroup::receive_on_first(int from, std::span<std::byte> bytes) {
  do_receive_on_first(from, bytes);
}

}  // namespace bridgemark
