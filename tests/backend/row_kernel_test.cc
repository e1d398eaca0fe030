#include "bridgemark/backend/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/philox.h"
#include "tests/support/chi_square.h"
#include "tests/support/device_test.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;

constexpr testing::Tolerance kLog{1e-13, 1e-12};

// Numbers in [0, 1) of a test's own.
double draw(std::uint64_t what, std::uint64_t i) {
  return draw_uniform({what, DrawPurpose::kInitialise}, i, 0);
}

States random_states(std::size_t rows, std::size_t dim, std::size_t S, std::uint64_t seed) {
  States states(rows, dim);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states.data()[i] = static_cast<std::int32_t>(draw(seed, i) * static_cast<double>(S));
  }
  return states;
}

// A kernel far from symmetric, its logarithms down to -spread, with potentials of both ends.
struct KernelCase {
  Matrix<double> log_k;
  States x0, x1;
  std::vector<double> f, h;
};

KernelCase make_kernel_case(std::size_t S, std::size_t D, std::size_t n0, std::size_t n1,
                            double spread) {
  KernelCase made{Matrix<double>(S, S), random_states(n0, D, S, 1), random_states(n1, D, S, 2),
                  std::vector<double>(n0), std::vector<double>(n1)};
  for (std::size_t i = 0; i < S * S; ++i) made.log_k.data()[i] = -spread * draw(3, i);
  for (std::size_t i = 0; i < n0; ++i) made.f[i] = 3.0 * draw(4, i);
  for (std::size_t j = 0; j < n1; ++j) made.h[j] = 3.0 * draw(5, j);
  return made;
}

// All entries, written out.
double log_entry(const KernelCase& c, std::size_t i, std::size_t j) {
  double sum = 0.0;
  for (std::size_t d = 0; d < c.x0.cols(); ++d) {
    sum += c.log_k(static_cast<std::size_t>(c.x0(i, d)), static_cast<std::size_t>(c.x1(j, d)));
  }
  return sum;
}

std::vector<double> plain_sums_over_x1(const KernelCase& c) {
  std::vector<double> out, terms(c.h.size());
  for (std::size_t i = 0; i < c.f.size(); ++i) {
    for (std::size_t j = 0; j < c.h.size(); ++j) terms[j] = log_entry(c, i, j) + c.h[j];
    out.push_back(log_sum(terms.data(), terms.size()));
  }
  return out;
}

std::vector<double> plain_sums_over_x0(const KernelCase& c) {
  std::vector<double> out, terms(c.f.size());
  for (std::size_t j = 0; j < c.h.size(); ++j) {
    for (std::size_t i = 0; i < c.f.size(); ++i) terms[i] = log_entry(c, i, j) + c.f[i];
    out.push_back(log_sum(terms.data(), terms.size()));
  }
  return out;
}

void check_sums(const Context& context, const KernelCase& c) {
  const auto kernel = backend::of(context).make_row_kernel(context, c.log_k, c.x0, c.x1);
  std::vector<double> over_x1(c.f.size()), over_x0(c.h.size());
  kernel->log_sums_over_x1(context, c.h, over_x1);
  kernel->log_sums_over_x0(context, c.f, over_x0);
  EXPECT_TRUE(all_near(over_x1, plain_sums_over_x1(c), kLog));
  EXPECT_TRUE(all_near(over_x0, plain_sums_over_x0(c), kLog));
}

class RowKernel : public testing::DeviceTest {};

// Ragged sizes: groups of eight rows, blocks of 256 columns, chunks of coordinates.
TEST_P(RowKernel, SumsAreThoseOfAllEntries) {
  for (const std::size_t n : {1u, 7u, 8u, 9u, 17u}) {
    check_sums(context(), make_kernel_case(5, 3, n, 2 * n + 1, 4.0));
  }
  check_sums(context(), make_kernel_case(50, 21, 20, 523, 3.0));
}

// Entries reach exp(-30000): far beyond any double.
TEST_P(RowKernel, SumsInTheLogDomain) {
  check_sums(context(), make_kernel_case(7, 10, 30, 300, 3000.0));
}

// More categories than a table of eight rows has in a cache, or shared memory of a device.
TEST_P(RowKernel, SumsWithManyCategories) {
  check_sums(context(), make_kernel_case(900, 12, 10, 40, 2.0));
}

TEST_P(RowKernel, ZerosOfTheKernel) {
  KernelCase c = make_kernel_case(3, 2, 9, 11, 2.0);
  c.log_k(0, 1) = c.log_k(1, 0) = c.log_k(2, 2) = kLogZero;
  c.h[3] = kLogZero;
  check_sums(context(), c);
  for (std::size_t i = 0; i < c.log_k.size(); ++i) c.log_k.data()[i] = kLogZero;
  check_sums(context(), c);
}

// By weights of one x0 written out, with a row that is there twice.
TEST_P(RowKernel, DrawsRowsByTheirWeights) {
  KernelCase c = make_kernel_case(6, 2, 1, 600, 3.0);
  const std::vector<double> log_total = plain_sums_over_x1(c);
  constexpr std::size_t kDraws = 60000;
  States x0(kDraws, 2), drawn(kDraws, 2);
  for (std::size_t b = 0; b < kDraws; ++b) std::copy_n(c.x0.row(0), 2, x0.row(b));
  backend::of(context()).sample_weighted_rows(context(), {c.log_k, c.x1, c.h}, x0,
                                              {7, DrawPurpose::kConditional}, 0, drawn);
  std::vector<double> probabilities(36, 0.0);
  std::vector<std::size_t> counts(36, 0);
  for (std::size_t j = 0; j < c.h.size(); ++j) {
    const auto cell = static_cast<std::size_t>(c.x1(j, 0) * 6 + c.x1(j, 1));
    probabilities[cell] += std::exp(log_entry(c, 0, j) + c.h[j] - log_total[0]);
  }
  for (std::size_t b = 0; b < kDraws; ++b) {
    ++counts[static_cast<std::size_t>(drawn(b, 0) * 6 + drawn(b, 1))];
  }
  EXPECT_TRUE(testing::fits(counts, probabilities));

  // The marginals are those of the same weights.
  Matrix<double> marginals(1, 2 * 6);
  backend::of(context()).weighted_row_marginals(context(), {c.log_k, c.x1, c.h}, c.x0,
                                                marginals.view());
  for (std::size_t s = 0; s < 6; ++s) {
    double first = 0.0, second = 0.0;
    for (std::size_t t = 0; t < 6; ++t) {
      first += probabilities[s * 6 + t];
      second += probabilities[t * 6 + s];
    }
    EXPECT_NEAR(std::exp(marginals(0, s)), first, 1e-12);
    EXPECT_NEAR(std::exp(marginals(0, 6 + s)), second, 1e-12);
  }
}

// A draw is a function of key and index, whatever rows lie beside it; weights may lie anywhere.
TEST_P(RowKernel, DrawsAreFunctionsOfTheIndex) {
  const KernelCase c = make_kernel_case(9, 4, 50, 700, 2000.0);
  States all(50, 4), some(20, 4);
  const DrawKey key{3, DrawPurpose::kConditional};
  const backend::WeightedRows rows{c.log_k, c.x1, c.h};
  backend::of(context()).sample_weighted_rows(context(), rows, c.x0, key, 100, all);
  backend::of(context()).sample_weighted_rows(context(), rows, c.x0.view().slice(30, 20), key, 130,
                                              some);
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some.data()[i], all.row(30)[i]);
}

// A category that no row has is -inf; one whose rows weigh exp(-2000) of the others is not.
TEST_P(RowKernel, MarginalsInTheLogDomain) {
  const Matrix<double> log_k(3, 3, std::vector<double>{0, -2000, -1, -2000, 0, -1, -1, -1, 0});
  const States x0(1, 1, {0}), x1(2, 1, {0, 1});
  Matrix<double> marginals(1, 3);
  backend::of(context()).weighted_row_marginals(
      context(), {log_k, x1, std::vector<double>{0.0, 0.0}}, x0, marginals.view());
  EXPECT_TRUE(
      all_near(marginals.view().row_span(0), std::vector<double>{0.0, -2000.0, kLogZero}, kLog));
}

RUN_ON_EVERY_DEVICE(RowKernel);

TEST(RowKernelOnTheCpu, EveryInstructionSetAndAnyThreads) {
  const KernelCase c = make_kernel_case(20, 9, 150, 300, 30.0);
  testing::with_each_instruction_set([&] {
    for (const int threads : {1, 3}) check_sums({.num_threads = threads}, c);
  });
}

class CudaRowKernel : public testing::CudaTest {};

// Sums to 1e-10, and the very same rows.
TEST_F(CudaRowKernel, AgreesWithTheCpu) {
  const Context cuda{.device = Device::kCuda};
  const KernelCase c = make_kernel_case(50, 64, 700, 5000, 6.0);
  const auto on_cpu = backend::of({}).make_row_kernel({}, c.log_k, c.x0, c.x1);
  const auto on_cuda = backend::of(cuda).make_row_kernel(cuda, c.log_k, c.x0, c.x1);
  std::vector<double> a(700), b(700), p(5000), q(5000);
  on_cpu->log_sums_over_x1({}, c.h, a);
  on_cuda->log_sums_over_x1(cuda, c.h, b);
  EXPECT_TRUE(all_near(b, a, {.abs = 1e-10}));
  on_cpu->log_sums_over_x0({}, c.f, p);
  on_cuda->log_sums_over_x0(cuda, c.f, q);
  EXPECT_TRUE(all_near(q, p, {.abs = 1e-10}));
  States drawn(700, 64), on_device(700, 64);
  const DrawKey key{3, DrawPurpose::kConditional};
  const backend::WeightedRows rows{c.log_k, c.x1, c.h};
  backend::of({}).sample_weighted_rows({}, rows, c.x0, key, 5, drawn);
  backend::of(cuda).sample_weighted_rows(cuda, rows, c.x0, key, 5, on_device);
  EXPECT_EQ(drawn, on_device);
}

}  // namespace
}  // namespace bridgemark
