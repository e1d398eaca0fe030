#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

// Weights of components that are products of many factors R_d in (0, 1], over rows of the batch. A
// product over all dimensions leaves the range of T, so a weight is mantissa * 2^exponent with a
// mantissa in [1, 2) and an integer exponent: a multiplication instead of a logarithm for each
// factor, and no rounding but the multiplication's.
namespace bridgemark::backend::cpu {

template <typename T>
using Exponent = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// The exponent of a weight that is 0: far below any other, and its double is still in range.
template <typename T>
constexpr Exponent<T> kZeroWeight = -(Exponent<T>(1) << 28);

// Multiplies the weights with the factors, and sets the factors' inverses. A factor below `floor`
// is left out, and its inverse is 0. Returns the smallest factor.
template <typename T>
T multiply_weights(T floor, const T* factors, std::size_t count, T* mantissas,
                   Exponent<T>* exponents, T* inverses);

// The same for factors that need no check; the inverses are good to a unit or two in the last
// place. Mantissas leave [1, 2), and normalise_weights brings them back; none may leave the range
// of T in between.
template <typename T>
void multiply_mantissas(const T* factors, std::size_t count, T* mantissas, T* inverses);
template <typename T>
void normalise_weights(std::size_t count, T* mantissas, Exponent<T>* exponents);

// The largest exponent.
template <typename T>
Exponent<T> max_exponent(const Exponent<T>* exponents, std::size_t count);

// mantissa * 2^(exponent - scale) = upper * lower for a row of weights with exponents of at most
// `scale`. Two factors reach down to the square of the smallest normal number; a weight below it
// becomes so small that no inverse of a factor brings it back into the range of T.
template <typename T>
void split_weights(const T* mantissas, const Exponent<T>* exponents, Exponent<T> scale,
                   std::size_t count, T* upper, T* lower);

// out[i,:] = upper[r,:] * inverse[r,:] * lower[r,:] with r = rows[i]: the product over all
// dimensions but one.
template <typename T>
void weights_of_others(const T* upper, const T* lower, const T* inverse, std::size_t columns,
                       std::span<const std::uint32_t> rows, T* out);

// own = (total - own) * inverse: how a gradient of log R becomes one of R.
template <typename T>
void pull_through_log(const T* total, const T* inverse, std::size_t count, T* own);

}  // namespace bridgemark::backend::cpu
