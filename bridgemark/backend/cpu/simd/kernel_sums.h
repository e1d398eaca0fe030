#pragma once

#include <cstddef>
#include <cstdint>

// The inner loops of a row kernel's sums, eight output rows side by side.
namespace bridgemark::backend::cpu {

inline constexpr std::size_t kKernelRows = 8;

// Logarithms of entries: logs [count,8] += tables[d, columns[j,d], :] for d in [first, last), with
// tables [D,S,8] of the eight rows and columns [count,D].
void add_kernel_logs(const double* tables, std::size_t dim, std::size_t num_categories,
                     std::size_t first, std::size_t last, const std::uint16_t* columns,
                     std::size_t count, double* logs);

// Sums so far, of eight rows: sum exp(high). Takes logs [count,8] in. Terms below exp(-45) of the
// largest so far are left out: 2^-64 of it.
void add_log_terms(const double* logs, std::size_t count, double* high, double* sum);

}  // namespace bridgemark::backend::cpu
