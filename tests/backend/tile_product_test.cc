#include "bridgemark/backend/cpu/simd/tile_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/backend/cpu/simd/transpose.h"
#include "tests/support/instruction_sets.h"

namespace bridgemark::backend::cpu {
namespace {

template <typename T>
std::vector<T> waves(std::size_t count, double step) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(std::sin(step * static_cast<double>(i + 1)));
  }
  return values;
}

// Vectors of unknown length have no tiles.
constexpr std::int64_t kSetsWithTiles =
    HWY_TARGETS & ~(HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV);

template <typename T>
class TileProduct : public ::testing::Test {
 protected:
  static void check_rows();
  static void check_groups();
  static void check_transpose();

  static constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TileProduct, Elements);

// Numbers of rows around every edge of a group.
constexpr std::size_t kRows[] = {1, 2, 5, 6, 7, 12, 23};

// Rows of `out` in another order.
std::vector<std::uint32_t> shuffled(std::size_t count) {
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = static_cast<std::uint32_t>((i * 5 + 2) % count);
  }
  if (count % 5 == 0) std::iota(order.rbegin(), order.rend(), 0u);
  return order;
}

// Bands at every place of a row, from one column to all, against plain sums; what lies outside the
// row's whole vectors stays as it is.
template <typename T>
void TileProduct<T>::check_rows() {
  const std::size_t kInner = 16 / sizeof(T) * 3;
  for (const std::size_t rows : kRows) {
    for (const std::size_t columns : {1, 3, 8, 16, 37, 64}) {
      const std::size_t stride = whole_vectors<T>(columns);
      const std::vector<T> a = waves<T>(rows * kInner, 0.7), x = waves<T>(kInner * stride, 0.3);
      std::vector<Band> bands;
      for (std::size_t group = 0; group < num_groups(rows); ++group) {
        const auto first = static_cast<std::uint32_t>(group * 3 % columns);
        bands.push_back({first, std::min(first + 1 + static_cast<std::uint32_t>(group) * 11,
                                         static_cast<std::uint32_t>(columns))});
      }
      for (const bool whole : {false, true}) {
        if (whole) std::ranges::fill(bands, Band{0, static_cast<std::uint32_t>(columns)});
        for (const Into into : {Into::kStore, Into::kAdd}) {
          const std::vector<std::uint32_t> order = shuffled(rows);
          std::vector<T> out = waves<T>((rows + 1) * stride, 0.9);
          const std::vector<T> before = out;
          multiply_rows<T>({.rows = rows,
                            .inner = kInner,
                            .a = a.data(),
                            .a_stride = kInner,
                            .x = x.data(),
                            .x_stride = stride,
                            .out = out.data(),
                            .out_stride = stride,
                            .columns = bands.data(),
                            .a_rows = order.data(),
                            .out_rows = order.data()},
                           into);
          for (std::size_t i = 0; i < rows; ++i) {
            const Band band = bands[i / kGroupRows];
            for (std::size_t k = band.first; k < band.last; ++k) {
              const std::size_t at = order[i] * stride + k;
              double sum = into == Into::kAdd ? static_cast<double>(before[at]) : 0.0;
              for (std::size_t j = 0; j < kInner; ++j) {
                sum += static_cast<double>(a[order[i] * kInner + j]) *
                       static_cast<double>(x[j * stride + k]);
              }
              ASSERT_NEAR(out[at], sum, kTolerance) << rows << " " << columns << " " << k;
            }
          }
          for (std::size_t i = rows * stride; i < out.size(); ++i) ASSERT_EQ(out[i], before[i]);
        }
      }
    }
  }
}

TYPED_TEST(TileProduct, RowsMatchPlainSums) {
  testing::with_each_instruction_set(TestFixture::check_rows, kSetsWithTiles);
}

// Groups with terms of their own, from a single one to all.
template <typename T>
void TileProduct<T>::check_groups() {
  constexpr std::size_t kInner = 31;
  for (const std::size_t rows : kRows) {
    for (const std::size_t columns : {1, 3, 8, 16, 37}) {
      const std::size_t stride = whole_vectors<T>(columns);
      const std::vector<T> a = waves<T>(rows * kInner, 0.7), x = waves<T>(kInner * stride, 0.3),
                           factor = waves<T>(rows * columns, 1.1),
                           addend = waves<T>(rows * columns, 1.7);
      std::vector<std::vector<std::uint32_t>> indices(num_groups(rows));
      std::vector<Terms> terms;
      std::vector<T> packed;
      for (std::size_t group = 0; group < indices.size(); ++group) {
        for (std::size_t j = 0; j < kInner; j += 1 + 40 / (1 + 13 * group % 40)) {
          indices[group].push_back(static_cast<std::uint32_t>(j));
        }
        for (const std::uint32_t j : indices[group]) {
          for (std::size_t i = 0; i < kGroupStride; ++i) {
            const std::size_t row = group * kGroupRows + i;
            packed.push_back(i < kGroupRows && row < rows ? a[row * kInner + j] : T(7));
          }
        }
        const std::size_t count = indices[group].size();
        indices[group].push_back(0);
        terms.push_back({indices[group].data(), count});
      }
      for (const Into into : {Into::kStore, Into::kMultiply, Into::kAddAndMultiply}) {
        const std::vector<std::uint32_t> order = shuffled(rows);
        std::vector<T> out = waves<T>(rows * columns + 9, 0.9);
        const std::vector<T> before = out;
        multiply_grouped<T>({.rows = rows,
                             .columns = columns,
                             .a = packed.data(),
                             .terms = terms.data(),
                             .x = x.data(),
                             .x_stride = stride,
                             .out = out.data(),
                             .out_stride = columns,
                             .out_rows = order.data(),
                             .addend = addend.data(),
                             .factor = factor.data(),
                             .factor_stride = columns},
                            into);
        for (std::size_t i = 0; i < rows; ++i) {
          const Terms& own = terms[i / kGroupRows];
          for (std::size_t k = 0; k < columns; ++k) {
            const std::size_t at = order[i] * columns + k;
            double sum = 0.0;
            for (const std::uint32_t j : std::span(own.indices, own.count)) {
              sum +=
                  static_cast<double>(a[i * kInner + j]) * static_cast<double>(x[j * stride + k]);
            }
            if (into == Into::kMultiply) sum *= static_cast<double>(before[at]);
            if (into == Into::kAddAndMultiply) {
              sum = (sum + static_cast<double>(addend[at])) * static_cast<double>(factor[at]);
            }
            ASSERT_NEAR(out[at], sum, kTolerance) << rows << " " << columns;
          }
        }
        for (std::size_t i = rows * columns; i < out.size(); ++i) ASSERT_EQ(out[i], before[i]);
      }
    }
  }
}

TYPED_TEST(TileProduct, GroupsMatchPlainSums) {
  testing::with_each_instruction_set(TestFixture::check_groups, kSetsWithTiles);
}

template <typename T>
void TileProduct<T>::check_transpose() {
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

TYPED_TEST(TileProduct, TransposeIsExact) {
  testing::with_each_instruction_set(TestFixture::check_transpose, kSetsWithTiles);
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
