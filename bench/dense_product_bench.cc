// The dense products of CSBM's training on a GPU beside cuBLASLt's in float32: each layer forward,
// back to its inputs, and to its weights. cuBLASLt makes by its epilogues what ours makes: the bias
// and the ReLU of a forward layer, the mask of the gradient to inputs and the bias of that to
// weights.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "bench/support.h"
#include "bridgemark/backend/cuda/network/dense_layer.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/graph.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
#include "bridgemark/backend/plan/network_tensors.h"
#include "bridgemark/math/philox.h"

namespace bridgemark::bench {
namespace {

using backend::cuda::Graph;
using backend::cuda::LayerProduct;
using backend::cuda::Memory;
using backend::cuda::Stream;

// Of the largest entry: float32 sums of up to 3200 terms in another order; TF32 would be 1e-4.
constexpr double kTolerance = 1e-5;
constexpr int kProductsOfGraph = 32;
constexpr int kMaxAlgorithms = 16;
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

void check_cublas(cublasStatus_t status, const char* call) {
  check(status == CUBLAS_STATUS_SUCCESS, "{}: {}", call, cublasLtGetStatusString(status));
}
#define BM_CUBLAS_CHECK(call) check_cublas((call), #call)

// Median microseconds of one product out of `repeats` graphs of kProductsOfGraph.
double time_products(Stream& stream, int repeats, const std::function<void()>& launch) {
  launch();  // loads the kernel, which a capture must not
  BM_CUDA_CHECK(cudaStreamSynchronize(stream));
  Graph graph;
  graph.capture(stream, [&] {
    for (int i = 0; i < kProductsOfGraph; ++i) launch();
  });
  std::array<cudaEvent_t, 2> events;
  for (cudaEvent_t& event : events) BM_CUDA_CHECK(cudaEventCreate(&event));
  std::vector<double> times;
  for (int i = 0; i < repeats + 1; ++i) {
    BM_CUDA_CHECK(cudaEventRecord(events[0], stream));
    graph.launch(stream);
    BM_CUDA_CHECK(cudaEventRecord(events[1], stream));
    BM_CUDA_CHECK(cudaEventSynchronize(events[1]));
    float milliseconds = 0.0f;
    BM_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events[0], events[1]));
    if (i > 0) times.push_back(1e3 * static_cast<double>(milliseconds) / kProductsOfGraph);
  }
  for (const cudaEvent_t event : events) BM_CUDA_CHECK(cudaEventDestroy(event));
  return median(times);
}

// A matrix as cuBLASLt sees it: columns `stride` apart, transposed before it is multiplied or not.
struct Factor {
  const float* data;
  std::size_t rows, columns, stride;
  bool transposed = false;
};

// The power of two up to 256 that an address is a multiple of.
std::uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 256;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

// What cuBLASLt does with a product before it is stored.
struct LtEpilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;  // added, or where the gradient of one goes
  const void* mask = nullptr;   // bits of what was above 0
  std::int64_t mask_stride = 0;
};

// out [rows, columns] = left right and an epilogue, by one of the ways that cuBLASLt proposes.
class LtProduct {
 public:
  LtProduct(cublasLtHandle_t handle, const Factor& left, const Factor& right,
            const LtEpilogue& epilogue, void* workspace, float* out)
      : handle_(handle), left_(left.data), right_(right.data), workspace_(workspace), out_(out) {
    // CUBLAS_COMPUTE_32F does not use the tensor cores' TF32.
    BM_CUBLAS_CHECK(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue.kind);
    if (epilogue.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias);
    if (epilogue.mask != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, epilogue.mask);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, epilogue.mask_stride);
    }
    const std::size_t rows = left.transposed ? left.columns : left.rows;
    const std::size_t columns = right.transposed ? right.rows : right.columns;
    layouts_ = {layout(left.rows, left.columns, left.stride),
                layout(right.rows, right.columns, right.stride), layout(rows, columns, rows)};
    propose();
  }
  ~LtProduct() {
    for (const cublasLtMatrixLayout_t each : layouts_) cublasLtMatrixLayoutDestroy(each);
    cublasLtMatmulDescDestroy(product_);
  }
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  // Later launches take the fastest way.
  void choose(Stream& stream) {
    constexpr int kTrials = 3;
    double least = std::numeric_limits<double>::infinity();
    std::size_t fastest = 0;
    for (chosen_ = 0; chosen_ < ways_.size(); ++chosen_) {
      const double us = time_products(stream, kTrials, [&] { launch(stream); });
      if (us < least) least = us, fastest = chosen_;
    }
    chosen_ = fastest;
  }

  void launch(cudaStream_t stream) const {
    const float one = 1.0f, zero = 0.0f;
    BM_CUBLAS_CHECK(cublasLtMatmul(handle_, product_, &one, left_, layouts_[0], right_, layouts_[1],
                                   &zero, out_, layouts_[2], out_, layouts_[2],
                                   &ways_[chosen_].algo, workspace_, kWorkspaceBytes, stream));
  }

 private:
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    BM_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof(value)));
  }

  static cublasLtMatrixLayout_t layout(std::size_t rows, std::size_t columns, std::size_t stride) {
    cublasLtMatrixLayout_t made = nullptr;
    BM_CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, rows, columns,
                                               static_cast<std::int64_t>(stride)));
    return made;
  }

  void propose() {
    cublasLtMatmulPreference_t preference = nullptr;
    BM_CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      BM_CUBLAS_CHECK(
          cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(left_));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(right_));
    ways_.resize(kMaxAlgorithms);
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, product_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], preference,
        kMaxAlgorithms, ways_.data(), &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
    ways_.resize(static_cast<std::size_t>(found));
    std::erase_if(ways_, [](const auto& way) { return way.state != CUBLAS_STATUS_SUCCESS; });
    check(!ways_.empty(), "cuBLASLt proposes no way");
  }

  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t product_ = nullptr;
  std::array<cublasLtMatrixLayout_t, 3> layouts_{};
  std::vector<cublasLtMatmulHeuristicResult_t> ways_;
  std::size_t chosen_ = 0;
  const float *left_, *right_;
  void* workspace_;
  float* out_;
};

// Both products of one kind and layer, ready to be launched.
struct Pairing {
  const char* kind;
  std::size_t count;  // entries of the result
  std::function<void(cudaStream_t)> ours;
  std::unique_ptr<LtProduct> theirs;
  const float* our_result;
  const float* their_result;
};

struct Times {
  double ours_us = 0.0, cublaslt_us = 0.0;
};

std::vector<float> fetch(const float* device, std::size_t count) {
  std::vector<float> values(count);
  BM_CUDA_CHECK(cudaMemcpy(values.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

void check_results(const Pairing& pairing) {
  const std::vector<float> ours = fetch(pairing.our_result, pairing.count),
                           theirs = fetch(pairing.their_result, pairing.count);
  double largest = 0.0, error = 0.0;
  for (std::size_t i = 0; i < pairing.count; ++i) {
    const auto expected = static_cast<double>(theirs[i]);
    largest = std::max(largest, std::abs(expected));
    error = std::max(error, std::abs(static_cast<double>(ours[i]) - expected));
  }
  check(error <= kTolerance * largest, "{}: an entry differs by {:g} of at most {:g}", pairing.kind,
        error, largest);
}

Times compare(const Pairing& pairing, Stream& stream, int repeats) {
  pairing.theirs->choose(stream);
  pairing.ours(stream);
  pairing.theirs->launch(stream);
  BM_CUDA_CHECK(cudaStreamSynchronize(stream));
  check_results(pairing);
  return {time_products(stream, repeats, [&] { pairing.ours(stream); }),
          time_products(stream, repeats, [&] { pairing.theirs->launch(stream); })};
}

std::vector<float> draw_values(std::size_t count, std::uint64_t index) {
  DrawSequence draws({1, DrawPurpose::kInitialise}, index);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2.0 * draws.uniform() - 1.0);
  return values;
}

// Bits of the values above 0 of a matrix [rows, columns] of whole 128s, as cuBLASLt reads them.
std::vector<std::uint8_t> mask_of(const std::vector<float>& values) {
  std::vector<std::uint8_t> bits(values.size() / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0.0f) bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | 1u << i % 8);
  }
  return bits;
}

// The three products of a layer for a batch, with values of its own.
class Layer {
 public:
  Layer(const backend::NetworkShape& shape, std::size_t l, std::size_t rows,
        cublasLtHandle_t handle)
      : inputs_(shape.layer_inputs(l)),
        outputs_(shape.layer_outputs(l)),
        // Of the first layer's inputs only the step's embedding is trained.
        pulled_(l > 0 ? inputs_ : shape.step_width()),
        rows_(rows),
        relu_(l + 1 < shape.num_layers()),
        mask_(l > 0 ? memory_.upload(mask_of(draw_values(rows * inputs_, 1))) : nullptr),
        in_(memory_.upload(draw_values(rows * inputs_, 1))),
        weight_(memory_.upload(draw_values(outputs_ * inputs_, 2))),
        bias_(memory_.upload(draw_values(outputs_, 3))),
        flow_(memory_.upload(draw_values(rows * outputs_, 4))),
        pull_back_scratch_(
            memory_.zeros<float>(backend::cuda::pull_back_scratch(rows, outputs_, pulled_))),
        weight_scratch_(
            memory_.zeros<float>(backend::cuda::weight_gradient_scratch(rows, outputs_, inputs_))),
        bias_gradient_(memory_.allocate<float>(outputs_)),
        their_bias_(memory_.allocate<float>(outputs_)),
        workspace_(memory_.allocate<char>(kWorkspaceBytes)),
        handle_(handle) {}

  Pairing forward(LayerProduct multiply) {
    const std::size_t count = rows_ * outputs_;
    float *ours = memory_.allocate<float>(count), *theirs = memory_.allocate<float>(count);
    return {multiply == LayerProduct::kInOrder ? "forward" : "forward, tensor cores",
            count,
            [this, ours, multiply](cudaStream_t stream) {
              backend::cuda::launch_layer(in_, rows_, inputs_, weight_, inputs_, bias_, outputs_,
                                          relu_, multiply, ours, stream);
            },
            product({weight_, inputs_, outputs_, inputs_, true}, {in_, inputs_, rows_, inputs_},
                    {relu_ ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS, bias_}, theirs),
            ours,
            theirs};
  }

  Pairing to_inputs() {
    const std::size_t count = rows_ * pulled_;
    float *ours = memory_.allocate<float>(count), *theirs = memory_.allocate<float>(count);
    const float* weight = weight_ + inputs_ - pulled_;
    const float* values = mask_ == nullptr ? nullptr : in_;
    LtEpilogue epilogue;
    if (mask_ != nullptr) {
      epilogue = {CUBLASLT_EPILOGUE_DRELU, nullptr, mask_, static_cast<std::int64_t>(inputs_)};
    }
    return {"to inputs",
            count,
            [this, ours, weight, values](cudaStream_t stream) {
              backend::cuda::launch_pull_back(flow_, rows_, outputs_, weight, inputs_, pulled_,
                                              values, pull_back_scratch_, ours, stream);
            },
            product({weight, pulled_, outputs_, inputs_}, {flow_, outputs_, rows_, outputs_},
                    epilogue, theirs),
            ours,
            theirs};
  }

  Pairing to_weights() {
    const std::size_t count = outputs_ * inputs_;
    float *ours = memory_.allocate<float>(count), *theirs = memory_.allocate<float>(count);
    return {"to weights",
            count,
            [this, ours](cudaStream_t stream) {
              backend::cuda::launch_weight_gradient(flow_, rows_, outputs_, in_, inputs_,
                                                    weight_scratch_, ours, bias_gradient_, stream);
            },
            product({in_, inputs_, rows_, inputs_}, {flow_, outputs_, rows_, outputs_, true},
                    {CUBLASLT_EPILOGUE_BGRADB, their_bias_}, theirs),
            ours,
            theirs};
  }

 private:
  std::unique_ptr<LtProduct> product(const Factor& left, const Factor& right,
                                     const LtEpilogue& epilogue, float* out) {
    return std::make_unique<LtProduct>(handle_, left, right, epilogue, workspace_, out);
  }

  Memory memory_;
  std::size_t inputs_, outputs_, pulled_, rows_;
  bool relu_;
  const std::uint8_t* mask_;
  const float *in_, *weight_, *bias_, *flow_;
  float *pull_back_scratch_, *weight_scratch_, *bias_gradient_, *their_bias_;
  void* workspace_;
  cublasLtHandle_t handle_;
};

bool run(const Options& options) {
  Stream stream;
  cublasLtHandle_t handle = nullptr;
  BM_CUBLAS_CHECK(cublasLtCreate(&handle));
  nlohmann::json rows = nlohmann::json::array();
  fmt::print("microseconds, all layers of a network together\n");
  fmt::print("{:>6} {:>4}  {:<21} {:>8} {:>10} {:>7}\n", "batch", "D", "product", "ours",
             "cuBLASLt", "ratio");
  for (const std::size_t batch : {128, 256, 512, 16384}) {
    for (const std::size_t dim : {2, 16, 64}) {
      const backend::NetworkShape shape{
          .dim = dim, .num_categories = 50, .num_steps = 64, .hidden = {128, 128, 128}};
      std::array<Times, 4> sums;
      std::array<const char*, 4> kinds{};
      for (std::size_t l = 0; l < shape.num_layers(); ++l) {
        Layer layer(shape, l, batch, handle);
        const std::array<Pairing, 4> products{layer.forward(LayerProduct::kInOrder),
                                              layer.forward(LayerProduct::kTensorCores),
                                              layer.to_inputs(), layer.to_weights()};
        for (std::size_t i = 0; i < products.size(); ++i) {
          const Times times = compare(products[i], stream, options.repeats);
          kinds[i] = products[i].kind;
          sums[i].ours_us += times.ours_us;
          sums[i].cublaslt_us += times.cublaslt_us;
          rows.push_back({{"batch", batch},
                          {"dim", dim},
                          {"inputs", shape.layer_inputs(l)},
                          {"outputs", shape.layer_outputs(l)},
                          {"product", kinds[i]},
                          {"ours_us", times.ours_us},
                          {"cublaslt_us", times.cublaslt_us}});
        }
      }
      for (std::size_t i = 0; i < sums.size(); ++i) {
        fmt::print("{:>6} {:>4}  {:<21} {:>8.1f} {:>10.1f} {:>7.2f}\n", batch, dim, kinds[i],
                   sums[i].ours_us, sums[i].cublaslt_us, sums[i].ours_us / sums[i].cublaslt_us);
      }
    }
  }
  BM_CUBLAS_CHECK(cublasLtDestroy(handle));
  write_json(options, {{"rows", rows}});
  return true;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark::bench;
  CLI::App app{"Times the dense products of CSBM's training beside cuBLASLt's"};
  Options options;
  add_options(app, options);
  return run_main(app, argc, argv, [&] { return run(options); });
}
