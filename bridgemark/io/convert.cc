#include "bridgemark/io/convert.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace bridgemark {

namespace {

struct Bool {
  std::uint8_t byte;
};
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

template <typename T>
T widen(T value) {
  return value;
}

std::uint8_t widen(Bool value) { return value.byte != 0; }

float widen(BFloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

float widen(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

template <typename To, typename From>
bool fits(From value) {
  if constexpr (std::is_same_v<To, std::int32_t>) {
    if constexpr (std::is_integral_v<From>) return std::in_range<std::int32_t>(value);
    return false;
  } else if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
    return !std::isfinite(value) || std::abs(value) <= std::numeric_limits<float>::max();
  } else {
    return true;
  }
}

template <typename From>
auto load(const std::byte* bytes) {
  From value;
  std::memcpy(&value, bytes, sizeof(From));
  return widen(value);
}

// Calls f with a value of the stored type.
template <typename F>
auto with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(Bool{});
    case DType::kU8:
      return f(std::uint8_t{});
    case DType::kI8:
      return f(std::int8_t{});
    case DType::kI16:
      return f(std::int16_t{});
    case DType::kU16:
      return f(std::uint16_t{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kU32:
      return f(std::uint32_t{});
    case DType::kI64:
      return f(std::int64_t{});
    case DType::kU64:
      return f(std::uint64_t{});
    case DType::kF16:
      return f(Half{});
    case DType::kBF16:
      return f(BFloat16{});
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      break;
  }
  return f(double{});
}

}  // namespace

template <typename T>
std::size_t convert_values(DType dtype, const std::byte* bytes, std::span<T> out) {
  return with_type(dtype, [&](auto tag) {
    using Stored = decltype(tag);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto value = load<Stored>(bytes + i * sizeof(Stored));
      if (!fits<T>(value)) return i;
      out[i] = static_cast<T>(value);
    }
    return out.size();
  });
}

template std::size_t convert_values(DType, const std::byte*, std::span<double>);
template std::size_t convert_values(DType, const std::byte*, std::span<float>);
template std::size_t convert_values(DType, const std::byte*, std::span<std::int32_t>);

std::string format_value(DType dtype, const std::byte* bytes) {
  return with_type(dtype, [&](auto tag) { return fmt::format("{}", load<decltype(tag)>(bytes)); });
}

}  // namespace bridgemark
