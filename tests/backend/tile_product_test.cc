#include "bridgemark/backend/cpu/tile_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bridgemark/backend/cpu/training_math.h"
#include "bridgemark/backend/cpu/transpose.h"

namespace bridgemark::backend::cpu {
namespace {

template <typename T>
std::vector<T> waves(std::size_t count, double step) {
  std::vector<T> values(count + kReadAhead<T>);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(std::sin(step * static_cast<double>(i + 1)));
  }
  return values;
}

template <typename T>
class TileProduct : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(TileProduct, Elements);

// Sizes around every edge of a tile: rows 1..25, columns that fill no panel.
TYPED_TEST(TileProduct, MatchesPlainSums) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  for (const std::size_t rows : {1, 2, 5, 9, 10, 11, 25}) {
    for (const std::size_t columns : {1, 3, 8, 16, 37}) {
      for (const std::size_t inner : {1, 7, 50}) {
        const std::size_t stride = whole_vectors<T>(columns);
        const std::vector<T> a = waves<T>(inner * rows, 0.7), x = waves<T>(inner * stride, 0.3),
                             factor = waves<T>(rows * columns, 1.1);
        std::vector<T> packed(packed_size(rows, inner) + kReadAhead<T>);
        pack_left(a.data(), rows, rows, inner, packed.data());
        for (const Into into : {Into::kStore, Into::kAdd, Into::kMultiply, Into::kAddAndMultiply}) {
          for (const bool use_packed : {false, true}) {
            std::vector<T> out = waves<T>(rows * columns, 0.9);
            const std::vector<T> before = out;
            multiply_transposed<T>({.rows = rows,
                                    .inner = inner,
                                    .columns = columns,
                                    .a = use_packed ? packed.data() : a.data(),
                                    .a_stride = rows,
                                    .x = x.data(),
                                    .x_stride = stride,
                                    .out = out.data(),
                                    .out_stride = columns,
                                    .packed = use_packed,
                                    .factor = factor.data(),
                                    .factor_stride = columns},
                                   into);
            for (std::size_t i = 0; i < rows; ++i) {
              for (std::size_t k = 0; k < columns; ++k) {
                const std::size_t at = i * columns + k;
                double sum = 0.0;
                for (std::size_t j = 0; j < inner; ++j) {
                  sum +=
                      static_cast<double>(a[j * rows + i]) * static_cast<double>(x[j * stride + k]);
                }
                if (into == Into::kAdd) sum += static_cast<double>(before[at]);
                if (into == Into::kMultiply) sum *= static_cast<double>(before[at]);
                if (into == Into::kAddAndMultiply) {
                  sum = (sum + static_cast<double>(before[at])) * static_cast<double>(factor[at]);
                }
                ASSERT_NEAR(out[at], sum, tolerance) << rows << " " << columns << " " << inner;
              }
            }
            for (std::size_t i = rows * columns; i < out.size(); ++i) ASSERT_EQ(out[i], before[i]);
          }
        }
      }
    }
  }
}

TYPED_TEST(TileProduct, TransposeIsExact) {
  using T = TypeParam;
  for (const std::size_t rows : {1, 2, 3, 4, 7, 8, 13}) {
    for (const std::size_t columns : {1, 2, 3, 4, 5, 9}) {
      const std::size_t in_stride = columns + 2, out_stride = rows + 3;
      const std::vector<T> in = waves<T>(rows * in_stride, 0.7);
      std::vector<T> out(columns * out_stride, T(7));
      transpose(in.data(), in_stride, rows, columns, out.data(), out_stride);
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < out_stride; ++i) {
          ASSERT_EQ(out[j * out_stride + i], i < rows ? in[i * in_stride + j] : T(7));
        }
      }
    }
  }
}

// In units of float's rounding, over the whole range that training meets.
TEST(TrainingMath, ExpAndLogHoldTheirAccuracy) {
  constexpr double kUnit = 0x1p-24;
  const std::size_t count = 100003;
  std::vector<float> x(count), y(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(-87.0 + 87.0 * static_cast<double>(i) / static_cast<double>(count));
  }
  exp_shifted(x.data(), 0.0f, count, y.data());
  for (std::size_t i = 0; i < count; ++i) {
    const double truth = std::exp(static_cast<double>(x[i]));
    ASSERT_NEAR(y[i] / truth, 1.0, 3.0 * kUnit) << x[i];
  }
  for (const double low : {-87.0, -0.1}) {
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = static_cast<float>(
          std::exp(low + (0.1 - low) * static_cast<double>(i) / static_cast<double>(count)));
    }
    log_each(x.data(), count, y.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double truth = std::log(static_cast<double>(x[i]));
      ASSERT_NEAR(y[i], truth, 3.0 * kUnit * std::abs(truth)) << x[i];
    }
  }
}

TEST(TrainingMath, ExponentialsThatLeaveTheRangeAreZero) {
  std::vector<float> x = {-1e30f, -100.0f, -87.5f, 0.0f, -std::numeric_limits<float>::infinity()};
  for (int i = 0; i < 20; ++i) x.push_back(-200.0f);
  std::vector<float> y(x.size(), 7.0f);
  EXPECT_EQ(exp_shifted(x.data(), 0.0f, x.size(), y.data()), 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], i == 3 ? 1.0f : 0.0f) << x[i];
}

}  // namespace
}  // namespace bridgemark::backend::cpu
