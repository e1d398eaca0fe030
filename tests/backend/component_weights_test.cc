#include "bridgemark/backend/cpu/cp/component_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "bridgemark/backend/cpu/cp/exact_column.h"

namespace bridgemark::backend::cpu {
namespace {

template <typename T>
class ComponentWeights : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(ComponentWeights, Elements);

constexpr std::uint32_t kFirstRow[] = {0};

// Factors over the whole range in turn; their product leaves the range of T after two of them.
template <typename T>
T factor_of(std::size_t d, std::size_t i) {
  const double low = std::log(static_cast<double>(linear_floor<T>()));
  return static_cast<T>(
      std::exp(0.999 * low * std::fmod(0.37 * static_cast<double>(i + 3 * d), 1)));
}

// Products of 40 factors and their quotients by one, against sums of logarithms in double.
TYPED_TEST(ComponentWeights, ProductsMatchSumsOfLogarithms) {
  using T = TypeParam;
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  constexpr std::size_t kDimensions = 40;
  for (const std::size_t count : {1, 2, 3, 8, 17, 33}) {
    std::vector<T> mantissas(count, T(1)), upper(count), lower(count), others(count);
    std::vector<Exponent<T>> exponents(count, 5);
    std::vector<std::vector<T>> inverses(kDimensions, std::vector<T>(count));
    std::vector<double> logarithms(count, 5.0);  // of base 2
    for (std::size_t d = 0; d < kDimensions; ++d) {
      std::vector<T> factors(count);
      for (std::size_t i = 0; i < count; ++i) {
        factors[i] = factor_of<T>(d, i);
        logarithms[i] += std::log2(static_cast<double>(factors[i]));
      }
      EXPECT_GE(multiply_weights(linear_floor<T>(), factors.data(), count, mantissas.data(),
                                 exponents.data(), inverses[d].data()),
                linear_floor<T>());
    }
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_GE(mantissas[i], T(1));
      ASSERT_LT(mantissas[i], T(2));
      const double logarithm =
          static_cast<double>(exponents[i]) + std::log2(static_cast<double>(mantissas[i]));
      ASSERT_NEAR(logarithm, logarithms[i], 2.0 * kDimensions * unit + 1e-11);
    }
    const Exponent<T> scale = max_exponent<T>(exponents.data(), count);
    split_weights(mantissas.data(), exponents.data(), scale, count, upper.data(), lower.data());
    for (std::size_t d = 0; d < kDimensions; ++d) {
      weights_of_others<T>(upper.data(), lower.data(), inverses[d].data(), count, kFirstRow,
                           others.data());
      for (std::size_t i = 0; i < count; ++i) {
        const double truth = std::exp2(logarithms[i] - static_cast<double>(scale) -
                                       std::log2(static_cast<double>(factor_of<T>(d, i))));
        const double smallest = sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022;
        ASSERT_NEAR(static_cast<double>(others[i]), truth,
                    (4.0 * kDimensions * unit + 1e-11) * truth + smallest)
            << d << " " << i;
      }
    }
  }
}

// Factors below the floor leave the weight as it is, and have no inverse.
TYPED_TEST(ComponentWeights, FactorsBelowTheFloorAreLeftOut) {
  using T = TypeParam;
  for (const std::size_t count : {1, 5, 16, 19}) {
    std::vector<T> factors(count, T(0.5)), mantissas(count, T(1.5)), inverses(count);
    std::vector<Exponent<T>> exponents(count, 3);
    factors[count - 1] = linear_floor<T>() / T(2);
    EXPECT_EQ(multiply_weights(linear_floor<T>(), factors.data(), count, mantissas.data(),
                               exponents.data(), inverses.data()),
              linear_floor<T>() / T(2));
    for (std::size_t i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      EXPECT_EQ(inverses[i], last ? T(0) : T(2));
      EXPECT_EQ(mantissas[i], T(1.5));
      EXPECT_EQ(exponents[i], last ? 3 : 2);
    }
  }
}

// Factors that stay in range are multiplied without a look at exponents, which come at the end.
TYPED_TEST(ComponentWeights, MantissasMayLeaveTheirRangeForAWhile) {
  using T = TypeParam;
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  for (const std::size_t count : {1, 7, 8, 19, 64}) {
    std::vector<T> mantissas(count, T(1.25)), factors(count), inverses(count);
    std::vector<Exponent<T>> exponents(count, 3);
    std::vector<double> truth(count, 1.25);
    for (std::size_t d = 0; d < 5; ++d) {
      for (std::size_t i = 0; i < count; ++i) {
        factors[i] = static_cast<T>(std::exp2(-12.0 * std::fmod(0.37 * double(i + 3 * d), 1)));
        truth[i] *= static_cast<double>(factors[i]);
      }
      multiply_mantissas(factors.data(), count, mantissas.data(), inverses.data());
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(static_cast<double>(inverses[i]) * static_cast<double>(factors[i]), 1.0,
                    4.0 * unit);
      }
    }
    normalise_weights(count, mantissas.data(), exponents.data());
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_GE(mantissas[i], T(1));
      ASSERT_LT(mantissas[i], T(2));
      const double weight =
          std::ldexp(static_cast<double>(mantissas[i]), static_cast<int>(exponents[i]));
      ASSERT_NEAR(weight / (8.0 * truth[i]), 1.0, 6.0 * unit + 1e-14);
    }
  }
}

// Rows in any order.
TYPED_TEST(ComponentWeights, OthersOfSomeRows) {
  using T = TypeParam;
  const std::vector<T> upper = {1, 2, 3, 4, 5, 6}, lower = {1, 1, 2, 2, 1, 1},
                       inverse = {1, 2, 1, 2, 1, 2};
  std::vector<T> out(4);
  weights_of_others<T>(upper.data(), lower.data(), inverse.data(), 2,
                       std::vector<std::uint32_t>{2, 1}, out.data());
  EXPECT_EQ(out, (std::vector<T>{5, 12, 6, 16}));
}

// A weight far below the row's largest is 0 whatever it is divided by.
TYPED_TEST(ComponentWeights, VanishingWeightsAreZero) {
  using T = TypeParam;
  const std::vector<T> mantissas(7, T(1.5)), inverses(7, T(1) / linear_floor<T>());
  std::vector<Exponent<T>> exponents(7, kZeroWeight<T>);
  exponents[0] = 100;
  std::vector<T> upper(7), lower(7), others(7);
  split_weights(mantissas.data(), exponents.data(), Exponent<T>(100), 7, upper.data(),
                lower.data());
  weights_of_others<T>(upper.data(), lower.data(), inverses.data(), 7, kFirstRow, others.data());
  EXPECT_EQ(others[0], T(1.5) * inverses[0]);
  for (std::size_t i = 1; i < 7; ++i) EXPECT_EQ(others[i], T(0));
}

}  // namespace
}  // namespace bridgemark::backend::cpu
