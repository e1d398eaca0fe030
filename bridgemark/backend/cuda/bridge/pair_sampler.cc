#include <algorithm>

#include "bridgemark/backend/cuda/bridge/device_source.h"
#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cuda {

namespace {

class CudaPairSampler : public PairSampler {
 public:
  explicit CudaPairSampler(const RowSource& source)
      : source_(source, kRows),
        D_(source.step->dim),
        S_(source.step->num_categories),
        x0_(kRows * D_),
        x1_(kRows * D_) {}

  void draw(const DrawKey& key, const DrawKey& step_key, std::uint64_t first_index,
            std::size_t rows) override {
    if (rows > kRows) throw_invalid("sample", "at most {} rows at once, got {}", kRows, rows);
    RowSourceView view = source_.view();
    view.key = key;
    view.step_key = step_key;
    launch_pairs(view, static_cast<int>(D_), static_cast<int>(S_), first_index, rows, x0_.get(),
                 x1_.get(), nullptr);
    BM_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  }

  void fetch(MutableStatesView x0, MutableStatesView x1) const override {
    const auto copy = [&](const Buffer<std::int32_t>& from, MutableStatesView to) {
      BM_CUDA_CHECK(cudaMemcpy(to.data, from.get(), to.size() * sizeof(std::int32_t),
                               cudaMemcpyDeviceToHost));
    };
    copy(x0_, x0);
    copy(x1_, x1);
  }

 private:
  static constexpr std::size_t kRows = std::size_t{1} << 16;

  DeviceSource source_;
  std::size_t D_, S_;
  Buffer<std::int32_t> x0_, x1_;
};

}  // namespace

std::unique_ptr<PairSampler> make_pair_sampler(const RowSource& source) {
  require_device();
  return std::make_unique<CudaPairSampler>(source);
}

}  // namespace bridgemark::backend::cuda
