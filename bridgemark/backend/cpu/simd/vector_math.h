#pragma once

#include <cstddef>

// Elementwise log-domain mathematics through Highway, with the best instructions the machine has.
namespace bridgemark::backend::cpu {

// out[i] = exp(in[i] - shift[i]); 0 below exp(-700), and where the shift is -inf.
void exp_minus(const double* in, const double* shift, std::size_t count, double* out);

// The same with one shift for all.
void exp_minus(const double* in, double shift, std::size_t count, double* out);

// out[i] = log(in[i]) + shift_scalar + shift[i] for in[i] > 0 and normal.
void log_plus(const double* in, double shift_scalar, const double* shift, std::size_t count,
              double* out);

// log sum_i exp(a[i] + b[i]); -inf where no term is finite. Exact: the maximum is found first.
double log_dot(const double* a, const double* b, std::size_t count);

// log_kl of math/log_domain.h.
double fast_log_kl(const double* log_p, const double* log_q, std::size_t count);

// sum_i weights[i] log(p[i] / q[i]) where these ratios are positive and normal.
double sum_log_ratios(const double* weights, const double* p, const double* q, std::size_t count);

}  // namespace bridgemark::backend::cpu
