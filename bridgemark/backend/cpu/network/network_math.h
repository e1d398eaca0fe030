#pragma once

#include <cstddef>

// The inner loops of CSBM over categories, through Highway. T is float or double.
namespace bridgemark::backend::cpu {

// out[width] = sum_i weights[i] rows[i,:], rows [count, width].
template <typename T>
void mix_rows(const T* weights, const T* rows, std::size_t count, std::size_t width, T* out);

// out[i] = sum_j rows[i,j] v[j], rows [count, width].
template <typename T>
void dot_rows(const T* rows, const T* v, std::size_t count, std::size_t width, T* out);

// The category that a uniform on [0, 1) falls in by the given weights, which need one above 0; one
// of weight 0 is never drawn. Weights that are not numbers give some category.
std::size_t draw_weighted(const float* weights, std::size_t count, double uniform);

// The same with the softmax of logits + log_weights as weights; log_weights may be null, scratch
// has room for count values.
std::size_t draw_softmax(const float* logits, const float* log_weights, std::size_t count,
                         double uniform, float* scratch);

// Sums of exp(logits - their maximum) with two rows of weights, which lie in [0, 1]. What leaves
// the range of float is taken as 0: a sum of at least kSoftmaxSumFloor has lost nothing to it.
struct SoftmaxSums {
  float high;  // the maximum
  float first, second;
};
inline constexpr float kSoftmaxSumFloor = 1e-25f;
SoftmaxSums softmax_sums(const float* logits, const float* first, const float* second,
                         std::size_t count);

}  // namespace bridgemark::backend::cpu
