#include "bridgemark/io/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace bridgemark {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The values as bytes that start at an odd address.
template <typename Stored>
struct Unaligned {
  explicit Unaligned(const std::vector<Stored>& values)
      : count(values.size()), storage(1 + values.size() * sizeof(Stored)) {
    const auto bytes = std::as_bytes(std::span(values));
    std::copy(bytes.begin(), bytes.end(), storage.begin() + 1);
  }
  const std::byte* bytes() const { return storage.data() + 1; }

  std::size_t count;
  std::vector<std::byte> storage;
};

template <typename Stored>
std::vector<double> doubles(DType dtype, const std::vector<Stored>& values) {
  const Unaligned<Stored> input(values);
  std::vector<double> out(input.count);
  EXPECT_EQ(convert_values(dtype, input.bytes(), std::span<double>(out)), out.size());
  return out;
}

template <typename Stored>
std::size_t num_int32(DType dtype, const std::vector<Stored>& values) {
  const Unaligned<Stored> input(values);
  std::vector<std::int32_t> out(input.count);
  const std::size_t done = convert_values(dtype, input.bytes(), std::span<std::int32_t>(out));
  for (std::size_t i = 0; i < done; ++i) EXPECT_EQ(out[i], static_cast<std::int32_t>(values[i]));
  return done;
}

template <typename T>
void check_integer(DType dtype) {
  const std::vector<T> values{std::numeric_limits<T>::min(), 0, 1, std::numeric_limits<T>::max()};
  const std::vector<double> out = doubles(dtype, values);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(out[i], static_cast<double>(values[i]));
}

TEST(Convert, EveryIntegerDtype) {
  check_integer<std::uint8_t>(DType::kU8);
  check_integer<std::int8_t>(DType::kI8);
  check_integer<std::int16_t>(DType::kI16);
  check_integer<std::uint16_t>(DType::kU16);
  check_integer<std::int32_t>(DType::kI32);
  check_integer<std::uint32_t>(DType::kU32);
  check_integer<std::int64_t>(DType::kI64);
  check_integer<std::uint64_t>(DType::kU64);
}

TEST(Convert, BoolIsZeroOrOne) {
  EXPECT_EQ(doubles<std::uint8_t>(DType::kBool, {0, 1, 255}), (std::vector<double>{0, 1, 1}));
}

TEST(Convert, HalfEdges) {
  EXPECT_EQ(
      doubles<std::uint16_t>(DType::kF16, {0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x0400, 0x8001,
                                           0x7c00, 0xfc00, 0x3555}),
      (std::vector<double>{1, -2, 65504, std::ldexp(1, -24), std::ldexp(1023, -24),
                           std::ldexp(1, -14), -std::ldexp(1, -24), kInf, -kInf, 0.333251953125}));
  EXPECT_TRUE(std::isnan(doubles<std::uint16_t>(DType::kF16, {0x7e00})[0]));
  EXPECT_TRUE(std::signbit(doubles<std::uint16_t>(DType::kF16, {0x8000})[0]));
}

TEST(Convert, BFloat16Edges) {
  EXPECT_EQ(doubles<std::uint16_t>(DType::kBF16, {0x3f80, 0xc040, 0x7f80, 0xff80, 0x0001}),
            (std::vector<double>{1, -3, kInf, -kInf, std::ldexp(1, -133)}));
  EXPECT_TRUE(std::isnan(doubles<std::uint16_t>(DType::kBF16, {0x7fc0})[0]));
}

TEST(Convert, Floats) {
  EXPECT_EQ(doubles<float>(DType::kF32, {1.5f, -0.1f}),
            (std::vector<double>{1.5, static_cast<double>(-0.1f)}));
  EXPECT_EQ(doubles<double>(DType::kF64, {0.1, kInf}), (std::vector<double>{0.1, kInf}));
}

TEST(Convert, FloatRefusesAFiniteDoubleBeyondIt) {
  const Unaligned<double> input({1e-60, kInf, -kInf, 3.4e38, -3.5e38, 1.0});
  std::vector<float> out(input.count);
  EXPECT_EQ(convert_values(DType::kF64, input.bytes(), std::span<float>(out)), 4u);
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[1], std::numeric_limits<float>::infinity());
  EXPECT_EQ(format_value(DType::kF64, input.bytes() + 4 * sizeof(double)), "-3.5e+38");
}

TEST(Convert, Int32StopsAtTheFirstValueOutside) {
  EXPECT_EQ(num_int32<std::int64_t>(DType::kI64, {-2147483648LL, 2147483647LL, 2147483648LL, 0}),
            2u);
  EXPECT_EQ(num_int32<std::int64_t>(DType::kI64, {-2147483649LL}), 0u);
  EXPECT_EQ(num_int32<std::uint32_t>(DType::kU32, {1u, 2147483648u}), 1u);
  EXPECT_EQ(num_int32<std::uint64_t>(DType::kU64, {1u, ~std::uint64_t{0}}), 1u);
  EXPECT_EQ(num_int32<std::int8_t>(DType::kI8, {-128, 127}), 2u);
  EXPECT_EQ(num_int32<std::uint8_t>(DType::kBool, {0, 1}), 2u);
  EXPECT_EQ(num_int32<double>(DType::kF64, {1.0}), 0u);
}

TEST(Convert, FormatsSmallIntegersAsNumbers) {
  const Unaligned<std::int8_t> input({65});
  EXPECT_EQ(format_value(DType::kI8, input.bytes()), "65");
  EXPECT_EQ(format_value(DType::kU8, input.bytes()), "65");
}

}  // namespace
}  // namespace bridgemark
