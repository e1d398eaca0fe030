#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace bridgemark {

// The element types of array files.
enum class DType {
  kBool,
  kU8,
  kI8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
};

inline constexpr int kNumDTypes = 13;

// Bytes of one element.
std::size_t dtype_size(DType dtype);

// As safetensors writes it: "BOOL", "I32", "F64".
std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

// As NumPy writes it: "|b1", "<i4", "<f8". Empty for BF16, which NumPy lacks.
std::string_view npy_descr(DType dtype);
std::optional<DType> parse_npy_descr(std::string_view descr);

bool is_floating(DType dtype);

// The dtype of a C++ type that the library itself computes with.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kI64;
}

}  // namespace bridgemark
