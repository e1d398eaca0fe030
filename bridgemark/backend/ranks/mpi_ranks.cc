#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "bridgemark/backend/ranks/launched_ranks.h"
#include "bridgemark/core/error.h"

// The group of all processes of an MPI launch. MPI's own errors end the launch (its default).
namespace bridgemark::backend {

namespace {

int size_of(MPI_Comm ranks) {
  int size = 0;
  MPI_Comm_size(ranks, &size);
  return size;
}

int rank_in(MPI_Comm ranks) {
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  return rank;
}

class MpiRanks : public RankGroup {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    rank_ = rank_in(MPI_COMM_WORLD);
    count_ = size_of(MPI_COMM_WORLD);
    rank_on_machine_ = rank_in(machine);
    count_on_machine_ = size_of(machine);
    MPI_Comm_free(&machine);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int rank_on_machine() const override { return rank_on_machine_; }
  int count_on_machine() const override { return count_on_machine_; }

 private:
  // MPI counts in ints; longer arrays go in pieces.
  template <typename T, typename Exchange>
  static void in_pieces(std::span<T> values, Exchange&& exchange) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t first = 0; first < values.size(); first += kMost) {
      const std::span<T> piece = values.subspan(first, std::min(kMost, values.size() - first));
      exchange(piece.data(), static_cast<int>(piece.size()));
    }
  }

  void reduce(std::span<double> values, MPI_Op operation) {
    in_pieces(values, [&](double* data, int count) {
      MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_DOUBLE, operation, MPI_COMM_WORLD);
    });
  }
  void do_all_max(std::span<double> values) override { reduce(values, MPI_MAX); }
  void do_all_sum(std::span<double> values) override { reduce(values, MPI_SUM); }
  void do_broadcast(std::span<std::byte> bytes) override {
    in_pieces(bytes, [](std::byte* data, int count) {
      MPI_Bcast(data, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    });
  }
  void do_send_to_first(std::span<const std::byte> bytes) override {
    in_pieces(bytes, [](const std::byte* data, int count) {
      MPI_Send(data, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    });
  }
  void do_receive_on_first(int from, std::span<std::byte> bytes) override {
    in_pieces(bytes, [&](std::byte* data, int count) {
      MPI_Recv(data, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
  }
  void do_barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  int rank_ = 0, count_ = 1, rank_on_machine_ = 0, count_on_machine_ = 1;
};

}  // namespace

std::shared_ptr<RankGroup> join_launched_ranks() {
  auto ranks = std::make_shared<MpiRanks>();
  if (ranks->count() != launched_ranks()) {
    throw_invalid(
        "ranks",
        "the launcher must belong to the MPI of this build, which finds {} ranks, got one "
        "that started {}",
        ranks->count(), launched_ranks());
  }
  return ranks;
}

std::string ranks_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

void end_launched_ranks(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::abort();  // never reached: MPI_Abort does not return
}

}  // namespace bridgemark::backend
