#include <algorithm>

#include "bridgemark/backend/cuda/bridge/device_source.h"
#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cuda {

namespace {

class CudaRowSampler : public RowSampler {
 public:
  explicit CudaRowSampler(const RowSource& source)
      : source_(source, 0),
        D_(source.dim()),
        S_(source.step   ? source.step->num_categories
           : source.tree ? source.tree->cores.cols()
                         : source.cumulative.cols()) {}

  void draw(const Context& context, const DrawKey& key, const DrawKey& step_key,
            std::uint64_t first_index, MutableStatesView start,
            MutableStatesView end) const override {
    const auto stream = stream_of(context);
    const std::size_t rows = std::max(start.rows, end.rows), part = std::min(rows, kRows);
    RowSourceView view = source_.view();
    view.key = key;
    view.step_key = step_key;
    const Scratch<double> weights(part * source_.weights_of_row(), stream);
    const Scratch<std::int32_t> hidden(part * source_.hidden_of_row(), stream);
    view.weights = weights.get();
    view.hidden = hidden.get();
    for (std::size_t first = 0; first < rows; first += part) {
      const std::size_t count = std::min(part, rows - first);
      const auto output = [&](const MutableStatesView& to) {
        return to.rows == 0 ? Output<std::int32_t>(nullptr, 0, true, stream)
                            : Output<std::int32_t>(to.row(first), count * D_, to.on_device, stream);
      };
      Output<std::int32_t> out0 = output(start), out1 = output(end);
      launch_pairs(view, static_cast<int>(D_), static_cast<int>(S_), first_index + first, count,
                   out0.get(), out1.get(), stream);
      out0.finish();
      out1.finish();
    }
  }

 private:
  static constexpr std::size_t kRows = std::size_t{1} << 16;

  DeviceSource source_;
  std::size_t D_, S_;
};

}  // namespace

std::unique_ptr<RowSampler> CudaBackend::make_row_sampler(const Context&,
                                                          const RowSource& source) const {
  require_device();
  return std::make_unique<CudaRowSampler>(source);
}

}  // namespace bridgemark::backend::cuda
