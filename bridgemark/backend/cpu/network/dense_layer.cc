#include "bridgemark/backend/cpu/network/dense_layer.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/network/dense_layer.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"

// A panel holds two vectors of outputs: [inputs + 1][2 lanes], the bias first, and zeros where the
// outputs end. A tile keeps kTileRows rows of a panel's sums in registers beside two vectors of
// weights: 12 sums fit the 16 registers of AVX2, 16 sums the 32 of NEON, where they also cover the
// latency of four pipes.
HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_NEON
constexpr std::size_t kTileRows = 8;
#else
constexpr std::size_t kTileRows = 6;
#endif
constexpr std::size_t kMaxPanel = 2 * HWY_MAX_BYTES / sizeof(float);

template <typename T>
std::size_t panel_width() {
  return 2 * hn::Lanes(hn::ScalableTag<T>());
}

template <typename T>
void PackLayer(const T* HWY_RESTRICT weight, const T* HWY_RESTRICT bias, std::size_t inputs,
               std::size_t outputs, std::vector<T>& packed) {
  const std::size_t width = panel_width<T>();
  const std::size_t panels = (outputs + width - 1) / width;
  packed.resize(panels * (inputs + 1) * width);
  for (std::size_t p = 0; p < panels; ++p) {
    T* HWY_RESTRICT panel = packed.data() + p * (inputs + 1) * width;
    const std::size_t first = p * width, used = std::min(width, outputs - first);
    std::copy_n(bias + first, used, panel);
    std::fill_n(panel + used, width - used, T(0));
    for (std::size_t k = 0; k < inputs; ++k) {
      T* HWY_RESTRICT row = panel + (k + 1) * width;
      for (std::size_t j = 0; j < used; ++j) row[j] = weight[(first + j) * inputs + k];
      std::fill_n(row + used, width - used, T(0));
    }
  }
}

#define BM_EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

// Rows of one panel; out has room for whole vectors. There are no arrays of vectors whose
// size the compiler does not know, hence the macros.
template <std::size_t kRows, typename T>
HWY_INLINE void Tile(const T* HWY_RESTRICT panel, const T* HWY_RESTRICT in, std::size_t inputs,
                     bool relu, T* HWY_RESTRICT out, std::size_t stride) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto bias_a = hn::LoadU(d, panel), bias_b = hn::LoadU(d, panel + lanes);
#define BM_START(I) [[maybe_unused]] auto a##I = bias_a, b##I = bias_b;
  BM_EACH_ROW(BM_START)
#undef BM_START
  const T* HWY_RESTRICT weights = panel + 2 * lanes;
  std::size_t k = 0;
#if HWY_TARGET == HWY_NEON
  // Four inputs of a row in one load: NEON multiplies by a lane at no cost, while a load of one
  // value into all lanes takes a place among the multiplications.
  if constexpr (sizeof(T) == 4) {
    for (; k + 4 <= inputs; k += 4) {
#define BM_LOAD(I) const auto x##I = hn::LoadU(d, in + (kRows > I ? I : 0) * inputs + k);
#define BM_MULTIPLY(I)                                       \
  if constexpr (kRows > I) {                                 \
    a##I = hn::MulAdd(hn::Broadcast<kLane>(x##I), wa, a##I); \
    b##I = hn::MulAdd(hn::Broadcast<kLane>(x##I), wb, b##I); \
  }
#define BM_LANE(LANE)                                                          \
  {                                                                            \
    constexpr int kLane = LANE;                                                \
    const auto wa = hn::LoadU(d, weights), wb = hn::LoadU(d, weights + lanes); \
    weights += 2 * lanes;                                                      \
    BM_EACH_ROW(BM_MULTIPLY)                                                   \
  }
      BM_EACH_ROW(BM_LOAD)
      BM_LANE(0)
      BM_LANE(1)
      BM_LANE(2)
      BM_LANE(3)
#undef BM_LANE
#undef BM_MULTIPLY
#undef BM_LOAD
    }
  }
#endif
  for (; k < inputs; ++k, weights += 2 * lanes) {
    const auto wa = hn::LoadU(d, weights), wb = hn::LoadU(d, weights + lanes);
#define BM_MULTIPLY(I)                             \
  if constexpr (kRows > I) {                       \
    const auto x = hn::Set(d, in[I * inputs + k]); \
    a##I = hn::MulAdd(x, wa, a##I);                \
    b##I = hn::MulAdd(x, wb, b##I);                \
  }
    BM_EACH_ROW(BM_MULTIPLY)
#undef BM_MULTIPLY
  }
  // NaN stays, since it has to reach the loss: a comparison with it is false.
  const auto zero = hn::Zero(d);
#define BM_STORE(I)                                        \
  if constexpr (kRows > I) {                               \
    if (relu) {                                            \
      a##I = hn::IfThenZeroElse(hn::Lt(a##I, zero), a##I); \
      b##I = hn::IfThenZeroElse(hn::Lt(b##I, zero), b##I); \
    }                                                      \
    hn::StoreU(a##I, d, out + I * stride);                 \
    hn::StoreU(b##I, d, out + I * stride + lanes);         \
  }
  BM_EACH_ROW(BM_STORE)
#undef BM_STORE
}
#undef BM_EACH_ROW

template <typename T>
void TileOfRows(std::size_t rows, const T* panel, const T* in, std::size_t inputs, bool relu,
                T* out, std::size_t stride) {
  switch (rows) {
    case 1:
      return Tile<1>(panel, in, inputs, relu, out, stride);
    case 2:
      return Tile<2>(panel, in, inputs, relu, out, stride);
    case 3:
      return Tile<3>(panel, in, inputs, relu, out, stride);
    case 4:
      return Tile<4>(panel, in, inputs, relu, out, stride);
    case 5:
      return Tile<5>(panel, in, inputs, relu, out, stride);
    case 6:
      return Tile<6>(panel, in, inputs, relu, out, stride);
    case 7:
      return Tile<7>(panel, in, inputs, relu, out, stride);
    default:
      return Tile<kTileRows>(panel, in, inputs, relu, out, stride);
  }
}

template <typename T>
void ApplyLayer(const std::vector<T>& packed, const T* in, std::size_t rows, std::size_t inputs,
                std::size_t outputs, bool relu, T* out) {
  const std::size_t width = panel_width<T>();
  T edge[kTileRows * kMaxPanel];
  for (std::size_t first = 0; first < outputs; first += width) {
    const T* panel = packed.data() + first * (inputs + 1);
    const std::size_t used = std::min(width, outputs - first);
    for (std::size_t row = 0; row < rows; row += kTileRows) {
      const std::size_t count = std::min(kTileRows, rows - row);
      T* target = out + row * outputs + first;
      if (used == width) {
        TileOfRows(count, panel, in + row * inputs, inputs, relu, target, outputs);
        continue;
      }
      TileOfRows(count, panel, in + row * inputs, inputs, relu, edge, width);
      for (std::size_t i = 0; i < count; ++i)
        std::copy_n(edge + i * width, used, target + i * outputs);
    }
  }
}

BM_ENTRIES(PackLayer);
BM_ENTRIES(ApplyLayer);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(PackLayer);
template <typename T>
void pack_layer(const T* weight, const T* bias, std::size_t inputs, std::size_t outputs,
                std::vector<T>& packed) {
  BM_BEST(PackLayer, T)(weight, bias, inputs, outputs, packed);
}
BM_INSTANTIATE(pack_layer);

BM_EXPORT(ApplyLayer);
template <typename T>
void apply_layer(const std::vector<T>& packed, const T* in, std::size_t rows, std::size_t inputs,
                 std::size_t outputs, bool relu, T* out) {
  BM_BEST(ApplyLayer, T)(packed, in, rows, inputs, outputs, relu, out);
}
BM_INSTANTIATE(apply_layer);

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
