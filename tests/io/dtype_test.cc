#include "bridgemark/io/dtype.h"

#include <gtest/gtest.h>

namespace bridgemark {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
    if (dtype != DType::kBF16) {
      EXPECT_EQ(parse_npy_descr(npy_descr(dtype)), dtype);
    }
  }
  EXPECT_EQ(npy_descr(DType::kBF16), "");
}

TEST(DType, UnknownNamesAreRefused) {
  for (const char* name : {"", "f64", "F8_E4M3", "F640", "<f8"}) EXPECT_FALSE(parse_dtype(name));
  for (const char* name : {"", ">i4", "|O", "<c8", "i4"}) EXPECT_FALSE(parse_npy_descr(name));
}

TEST(DType, SizesMatchNames) {
  EXPECT_EQ(dtype_size(DType::kBool), 1u);
  EXPECT_EQ(dtype_size(DType::kU8), 1u);
  EXPECT_EQ(dtype_size(DType::kBF16), 2u);
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const std::string_view descr = npy_descr(dtype);
    if (!descr.empty()) {
      EXPECT_EQ(dtype_size(dtype), static_cast<std::size_t>(descr[2] - '0'));
    }
    EXPECT_EQ(is_floating(dtype), dtype_name(dtype).find('F') != std::string_view::npos);
  }
}

TEST(DType, OfCppTypes) {
  EXPECT_EQ(dtype_of<double>(), DType::kF64);
  EXPECT_EQ(dtype_of<float>(), DType::kF32);
  EXPECT_EQ(dtype_of<std::int32_t>(), DType::kI32);
  EXPECT_EQ(dtype_of<std::int64_t>(), DType::kI64);
}

}  // namespace
}  // namespace bridgemark
