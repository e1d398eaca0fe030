#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/math/row_coupling.h"

namespace bridgemark::backend::cpu {

namespace {

void couple_group(const RowCoupling& coupling, StatesView x0, std::uint64_t first_index,
                  MutableStatesView x1) {
  const std::size_t rows = x0.rows, D = x0.cols;
  std::array<double, kCoupledRows * kCoupledRows> log_q;  // of x1[j] from x0[i]
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      log_q[i * kCoupledRows + j] = log_of_rows(coupling.log_q.data(), coupling.log_q.cols(),
                                                x0.data + i * D, x1.data + j * D, D);
    }
  }
  std::array<std::size_t, kCoupledRows> end;
  std::iota(end.begin(), end.end(), std::size_t{0});
  std::uint32_t meeting = 0;
  for (std::uint32_t round = 0; round < kCouplingRounds; ++round) {
    for (std::size_t distance = 1; distance < kCoupledRows; ++distance, ++meeting) {
      for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t j = i ^ distance;
        if (j < i || j >= rows) continue;
        const double *from_i = log_q.data() + i * kCoupledRows,
                     *from_j = log_q.data() + j * kCoupledRows;
        const double gain = (from_i[end[j]] + from_j[end[i]]) - (from_i[end[i]] + from_j[end[j]]);
        if (exchanges(coupling.key, first_index + i, meeting, gain)) std::swap(end[i], end[j]);
      }
    }
  }
  const std::vector<std::int32_t> drawn(x1.data, x1.data + x1.size());
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(drawn.data() + end[i] * D, D, x1.data + i * D);
}

}  // namespace

void CpuBackend::couple_rows(const Context& context, const RowCoupling& coupling, StatesView x0,
                             std::uint64_t first_index, MutableStatesView x1) const {
  parallel_blocks(context, x0.rows, kCoupledRows, [&](std::size_t first, std::size_t last) {
    couple_group(coupling, x0.slice(first, last - first), first_index + first,
                 x1.slice(first, last - first));
  });
}

}  // namespace bridgemark::backend::cpu
