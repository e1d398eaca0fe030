#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include <span>

#include "bridgemark/backend/cuda/runtime/device_ranks.h"
#include "bridgemark/core/error.h"

// NCCL is looked up when several GPUs are joined, so that a program that has it compiled in starts
// without it.
namespace bridgemark::backend::cuda {

namespace {

constexpr char kLibrary[] = "libnccl.so.2";

// The functions of the library, which stays loaded.
struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRank) init_rank;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclGetErrorString) error_string;
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw DeviceError(fmt::format("[ranks] {} has no {}, which several GPUs need", kLibrary, name));
  }
}

const Nccl& nccl() {
  static const Nccl functions = [] {
    void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw DeviceError(fmt::format(
          "[ranks] several GPUs need {} of NCCL, which is not found: {}; add its folder to "
          "LD_LIBRARY_PATH",
          kLibrary, dlerror()));
    }
    Nccl found{};
    find(library, "ncclGetUniqueId", found.get_unique_id);
    find(library, "ncclCommInitRank", found.init_rank);
    find(library, "ncclCommDestroy", found.destroy);
    find(library, "ncclAllReduce", found.all_reduce);
    find(library, "ncclGetErrorString", found.error_string);
    return found;
  }();
  return functions;
}

void check(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  throw DeviceError(fmt::format("[ranks] {} failed: {}", call, nccl().error_string(status)));
}

class NcclRanks : public DeviceRanks {
 public:
  explicit NcclRanks(RankGroup& ranks) {
    ncclUniqueId id{};
    if (ranks.rank() == 0) check(nccl().get_unique_id(&id), "ncclGetUniqueId");
    ranks.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    check(nccl().init_rank(&group_, ranks.count(), id, ranks.rank()), "ncclCommInitRank");
  }
  ~NcclRanks() override { nccl().destroy(group_); }
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  void all_max(double* values, std::size_t count, cudaStream_t stream) override {
    reduce(values, count, ncclMax, stream);
  }
  void all_sum(double* values, std::size_t count, cudaStream_t stream) override {
    reduce(values, count, ncclSum, stream);
  }

 private:
  void reduce(double* values, std::size_t count, ncclRedOp_t operation, cudaStream_t stream) {
    check(nccl().all_reduce(values, values, count, ncclDouble, operation, group_, stream),
          "ncclAllReduce");
  }

  ncclComm_t group_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceRanks> join_device_ranks(RankGroup& ranks) {
  return std::make_unique<NcclRanks>(ranks);
}

}  // namespace bridgemark::backend::cuda
