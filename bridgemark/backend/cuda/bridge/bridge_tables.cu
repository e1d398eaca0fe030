#include "bridgemark/backend/cuda/bridge/bridge_tables.h"

#include <vector>

#include "bridgemark/backend/cuda/bridge/log_product.h"
#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/tree/tree_states.h"
#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cuda {

namespace {

// Rows [D*K,S] of cores [D,S,K], and their exponentials scaled to a maximum of 1.
__global__ void rows_of_components(const double* cores, std::size_t D, std::size_t S, std::size_t K,
                                   double* log, double* linear) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= D * K) return;
  const double* column = cores + i / K * S * K + i % K;
  double high = kLogZero;
  for (std::size_t s = 0; s < S; ++s) high = column[s * K] > high ? column[s * K] : high;
  for (std::size_t s = 0; s < S; ++s) {
    const double value = column[s * K];
    log[i * S + s] = value;
    linear[i * S + s] = high == kLogZero ? 0.0 : exp(value - high);
  }
}

// Each row of [rows, count] as exponentials scaled to a maximum of 1.
__global__ void scale_each(const double* log, std::size_t rows, std::size_t count, double* linear) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows) return;
  double high = kLogZero;
  for (std::size_t j = 0; j < count; ++j)
    high = log[i * count + j] > high ? log[i * count + j] : high;
  for (std::size_t j = 0; j < count; ++j) {
    linear[i * count + j] = high == kLogZero ? 0.0 : exp(log[i * count + j] - high);
  }
}

template <typename Table>
const double* upload(BridgeTables& tables, const Table& table) {
  return tables.memory.upload(table.data(), table.size());
}

// The tables of a chain's paths, once log_beta, log_from and log_after are there.
void add_chain(BridgeTables& tables, const Array3<double>& log_moves, const double* start,
               const double* moves, const double* emission) {
  tables.is_chain = true;
  tables.chain = {tables.dim,
                  tables.num_categories,
                  tables.num_components,
                  tables.log_beta,
                  start,
                  upload(tables, log_moves),
                  moves,
                  tables.log_from,
                  emission};
  tables.chain_after = tables.chain;
  tables.chain_after.log_emission = tables.log_after;
}

// The same of a tree's states.
void add_tree(BridgeTables& tables, const HiddenTree& host) {
  tables.is_tree = true;
  tables.tree = upload_tree(tables.memory, host);
  tables.tree_after = tables.tree;
  tables.tree_after.log_emission = tables.log_after;
}

// Rows [D*K,S] as cores [D,S,K].
std::vector<double> by_state(const Matrix<double>& rows, std::size_t S, std::size_t K) {
  std::vector<double> cores(rows.size());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (std::size_t s = 0; s < S; ++s) cores[(row / K * S + s) * K + row % K] = rows(row, s);
  }
  return cores;
}

std::shared_ptr<const BridgeTables> upload_tables(const BridgeStep& step) {
  require_table(step);
  auto made = std::make_shared<BridgeTables>();
  BridgeTables& tables = *made;
  tables.dim = step.dim;
  tables.num_categories = step.num_categories;
  tables.num_components = step.num_components;
  tables.log_beta = upload(tables, step.log_beta);
  tables.log_from = upload(tables, step.log_from);
  tables.q = upload(tables, step.q.linear);
  tables.log_q = upload(tables, step.q.log);
  tables.to = upload(tables, step.to.linear);
  tables.log_to = upload(tables, step.to.log);
  tables.log_after =
      upload(tables, by_state(step.to.log, step.num_categories, step.num_components));
  tables.cumulative = upload(tables, step.cumulative);
  if (step.is_chain()) {
    add_chain(tables, step.log_moves, upload(tables, step.start), upload(tables, step.moves),
              upload(tables, step.from));
  }
  if (step.tree) add_tree(tables, step.tree->view());
  return made;
}

}  // namespace

std::shared_ptr<const BridgeTables> tables_of(const BridgeStep& step) {
  return step.kept->get<BridgeTables>([&] { return upload_tables(step); });
}

BridgeStep CudaBackend::make_device_step(const Context&, const StepPlan& plan) const {
  const std::size_t D = plan.log_cores.extent(0), S = plan.log_cores.extent(1),
                    K = plan.log_cores.extent(2);
  const auto cores = plan.cores.get<Buffer<double>>([&] {
    return std::make_shared<const Buffer<double>>(plan.log_cores.data(), plan.log_cores.size());
  });
  auto made = std::make_shared<BridgeTables>();
  BridgeTables& tables = *made;
  tables.dim = D;
  tables.num_categories = S;
  tables.num_components = K;
  tables.cores = cores;
  const auto doubles = [&](std::size_t count) { return tables.memory.allocate<double>(count); };
  const auto seen_through = [&](const Matrix<double>& log_power) {
    double* out = doubles(D * S * K);
    launch_log_product(upload(tables, log_power), cores->get(), D, S, K, S, out, nullptr);
    return out;
  };
  const ScaledRows q = scale_rows(plan.log_q);
  tables.log_beta = tables.memory.upload(plan.log_beta.data(), K);
  tables.q = upload(tables, q.linear);
  tables.log_q = upload(tables, q.log);
  tables.log_from = seen_through(plan.log_before);
  tables.log_after = plan.log_after == nullptr ? cores->get() : seen_through(*plan.log_after);
  double *to = doubles(D * K * S), *log_to = doubles(D * K * S);
  rows_of_components<<<blocks_for(D * K), kThreads>>>(tables.log_after, D, S, K, log_to, to);
  tables.to = to;
  tables.log_to = log_to;
  if (plan.log_moves.size() > 0) {
    const Array3<double>& log_moves = plan.log_moves;
    double* emission = doubles(D * S * K);
    scale_each<<<blocks_for(D * S), kThreads>>>(tables.log_from, D * S, K, emission);
    const auto linear = [&](std::size_t rows, std::size_t count, const double* log) {
      return upload(tables,
                    scale_rows(Matrix<double>(rows, count, {log, log + rows * count})).linear);
    };
    add_chain(tables, log_moves, linear(1, K, plan.log_beta.data()),
              linear(D - 1, K * K, log_moves.data()), emission);
  }
  BM_CUDA_CHECK(cudaGetLastError());
  BM_CUDA_CHECK(cudaStreamSynchronize(nullptr));  // they are read on any stream
  BridgeStep step;
  step.dim = D;
  step.num_categories = S;
  step.num_components = K;
  step.kept->get<BridgeTables>([&] { return std::shared_ptr<const BridgeTables>(made); });
  return step;
}

}  // namespace bridgemark::backend::cuda
