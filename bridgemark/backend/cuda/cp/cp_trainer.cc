#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "bridgemark/backend/cuda/bridge/device_source.h"
#include "bridgemark/backend/cuda/chain/chain_view.h"
#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/cp/matching_steps.h"
#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/device_ranks.h"
#include "bridgemark/backend/cuda/runtime/finite_values.h"
#include "bridgemark/backend/cuda/runtime/graph.h"
#include "bridgemark/backend/cuda/runtime/update_runs.h"
#include "bridgemark/core/error.h"

// Owns the device's memory of a training and replays its updates as CUDA graphs of kBatchesAhead
// updates each. While a graph runs, the batches of the next one are drawn beside it.
namespace bridgemark::backend::cuda {

namespace {

class CudaCpTrainer : public CpTrainer {
 public:
  CudaCpTrainer(std::shared_ptr<RankGroup> ranks, CpTrainerPlan plan)
      : plan_(std::move(plan)),
        ranks_(std::move(ranks)),
        device_ranks_(ranks_ ? join_device_ranks(*ranks_) : nullptr),
        source0_(plan_.x0, kBatchesAhead * plan_.batch_size),
        source1_(plan_.x1, kBatchesAhead * plan_.batch_size),
        settings_(kMaxUpdatesOfRun),
        progress_(1),
        losses_(kMaxUpdatesOfRun) {
    const CpTensors<float>& parameters = plan_.start;
    view_.D = static_cast<int>(parameters.dim);
    view_.S = static_cast<int>(parameters.num_categories);
    view_.Sp = (view_.S + 7) / 8 * 8;
    view_.K = static_cast<int>(parameters.num_components);
    const int tile = chain() ? kStateTile : kTile;
    view_.Kp = (view_.K + tile - 1) / tile * tile;
    view_.B = static_cast<int>(plan_.batch_size);
    view_.passes = (view_.B + kPassRows - 1) / kPassRows;
    view_.num_steps = plan_.chain.num_steps;
    view_.entropy = static_cast<float>(plan_.entropy);
    view_.settings = settings_.get();
    view_.progress = progress_.get();
    view_.losses = losses_.get();
    allocate_state();
    allocate_tables();
    if (matching()) {
      prepare_matching(matching_view(view_));
      allocate_matching();
    } else {
      prepare_static(static_view(view_));
      allocate_static();
      if (chain()) allocate_chain();
    }
    allocate_batches();
    const CpTensors<float> zero(parameters.dim, parameters.num_categories,
                                parameters.num_components, chain());
    set_state({parameters, zero, zero, zero});
    for (std::size_t half = 0; half < graphs_.size(); ++half) {
      graphs_[half].capture(stream_, [&] { record_updates(half); });
    }
  }

  void run(std::int64_t first_step, std::span<const CpUpdate> updates,
           std::span<double> losses) override {
    run_in_parts(updates.size(), [&](std::size_t first, std::size_t count) {
      run_part(first_step + static_cast<std::int64_t>(first), updates.subspan(first, count),
               losses.subspan(first, count));
    });
  }

  std::int64_t updates_at_once() const override { return kUpdatesAtOnce; }

  double evaluate(StatesView x, StatesView x1, std::span<const std::int32_t> n,
                  CpTensors<float>& gradient) override {
    if (x.rows != plan_.batch_size || x1.rows != plan_.batch_size) {
      throw_invalid("training", "a batch must have {} rows, got {} and {}", plan_.batch_size,
                    x.rows, x1.rows);
    }
    const Batch batch = batch_at(view_, batches_[0], 0);
    const auto upload = [](std::int32_t* to, const std::int32_t* from, std::size_t count) {
      BM_CUDA_CHECK(cudaMemcpy(to, from, count * sizeof(std::int32_t), cudaMemcpyHostToDevice));
    };
    upload(matching() ? batch.x_n : batch.x0, x.data, x.size());
    upload(batch.x1, x1.data, x1.size());
    if (matching()) upload(batch.n, n.data(), n.size());
    Buffer<float> beta(static_cast<std::size_t>(view_.Kp)), cores(padded_size()),
        moves(padded_moves());
    CpView view = view_;
    view.gradient_beta = beta.get();
    view.gradient_cores = cores.get();
    chain_parts_.gradient_moves = moves.get();
    const Progress start{0, 0};
    BM_CUDA_CHECK(cudaMemcpy(view_.progress, &start, sizeof start, cudaMemcpyHostToDevice));
    if (!matching()) {
      launch_sort(static_view(view), batch, 1, stream_);
      propagate();
    }
    fork();
    launch(view, batch);
    join();
    BM_CUDA_CHECK(cudaStreamSynchronize(stream_));
    gradient = read(view.gradient_beta, view.gradient_cores, chain_parts_.gradient_moves);
    chain_parts_.gradient_moves = nullptr;
    double loss = 0.0;
    BM_CUDA_CHECK(cudaMemcpy(&loss, losses_.get(), sizeof loss, cudaMemcpyDeviceToHost));
    return loss;
  }

  // The padding of cores is finite, that of weights and moves is not.
  bool has_finite_parameters() const override {
    std::vector<DeviceValues> values{{view_.log_beta, static_cast<std::size_t>(view_.K)},
                                     {view_.log_cores, padded_size()}};
    const std::size_t K = view_.K, Kp = view_.Kp;
    for (std::size_t first = 0; first < padded_moves(); first += Kp * Kp) {
      values.push_back({chain_parts_.log_moves + first, K, K, Kp});
    }
    return finite_.all_finite(values, stream_);
  }

  const CpTrainingState& state() const override {
    const ChainParts& parts = chain_parts_;
    read_ = {read(view_.log_beta, view_.log_cores, parts.log_moves),
             read(view_.first_beta, view_.first_cores, parts.first_moves),
             read(view_.second_beta, view_.second_cores, parts.second_moves),
             plan_.keeps_average
                 ? read(view_.average_beta, view_.average_cores, parts.average_moves)
                 : CpTensors<float>()};
    return read_;
  }

  void set_state(CpTrainingState state) override {
    // Components behind the last one weigh nothing.
    const ChainParts& parts = chain_parts_;
    write(state.parameters, -INFINITY, view_.log_beta, view_.log_cores, parts.log_moves);
    write(state.first_moment, 0.0f, view_.first_beta, view_.first_cores, parts.first_moves);
    write(state.second_moment, 0.0f, view_.second_beta, view_.second_cores, parts.second_moves);
    if (plan_.keeps_average) {
      write(state.average, 0.0f, view_.average_beta, view_.average_cores, parts.average_moves);
    }
  }

 private:
  bool matching() const { return plan_.matching.has_value(); }
  bool chain() const { return plan_.start.is_chain; }
  std::size_t padded_size() const { return static_cast<std::size_t>(view_.D) * view_.S * view_.Kp; }
  std::size_t padded_moves() const {
    return chain() ? static_cast<std::size_t>(view_.D - 1) * view_.Kp * view_.Kp : 0;
  }

  float* floats(std::size_t count) { return memory_.allocate<float>(count); }
  std::int32_t* states(std::size_t count) { return memory_.allocate<std::int32_t>(count); }

  void allocate_state() {
    for (float** beta : {&view_.log_beta, &view_.first_beta, &view_.second_beta}) {
      *beta = floats(static_cast<std::size_t>(view_.Kp));
    }
    for (float** cores : {&view_.log_cores, &view_.first_cores, &view_.second_cores}) {
      *cores = floats(padded_size());
    }
    if (plan_.keeps_average) {
      view_.average_beta = floats(static_cast<std::size_t>(view_.Kp));
      view_.average_cores = floats(padded_size());
    }
    view_.high = floats(static_cast<std::size_t>(view_.D) * view_.Kp);
    view_.entropy_of_beta = floats(2);
    view_.beta_sum = allocate_rank_sums(memory_, 1);
    view_.beta_entropy = memory_.allocate<double>(1);
  }

  void allocate_tables() {
    const std::size_t S = view_.S, Sp = view_.Sp, powers = view_.num_steps + 1;
    std::vector<float> q(powers * S * Sp, 0.0f), transposed(q);
    for (std::size_t n = 0; n < powers; ++n) {
      const float* power = plan_.chain.linear_power(static_cast<int>(n));
      for (std::size_t i = 0; i < S; ++i) {
        for (std::size_t j = 0; j < S; ++j) {
          q[(n * S + i) * Sp + j] = power[i * S + j];
          transposed[(n * S + j) * Sp + i] = power[i * S + j];
        }
      }
    }
    view_.q = memory_.upload(q);
    view_.q_transposed = memory_.upload(transposed);
    view_.log_q = memory_.upload(plan_.chain.log);
    pinned_ = upload_pinned(memory_, plan_.pinned);
    const Matrix<double>& log_q = plan_.coupling.log_q;
    coupling_ = {memory_.upload(log_q.data(), log_q.size()), plan_.coupling.key};
  }

  void allocate_batches() {
    const std::size_t rows = kBatchesAhead * plan_.batch_size, D = view_.D;
    for (Batch& batch : batches_) {
      batch.x0 = states(rows * D);
      batch.x1 = states(rows * D);
      batch.x_n = states(rows * D);
      batch.n = states(rows);
      batch.order = states(2 * rows * D);
    }
  }

  StaticView static_view(const CpView& view) const { return {view, static_parts_}; }
  ChainView chain_view(const CpView& view) const { return {static_view(view), chain_parts_}; }
  MatchingView matching_view(const CpView& view) const { return {view, matching_parts_}; }

  void allocate_static() {
    const std::size_t B = view_.B, weights = B * view_.Kp;
    static_parts_.log_u = floats(padded_size());
    static_parts_.weights_of_dim = chain() ? weights : 0;
    view_.exact_gradient = floats(padded_size());
    for (int side = 0; side < 2; ++side) {
      static_parts_.weights[side] = floats(chain() ? view_.D * weights : weights);
      static_parts_.factors[side] = floats(B);
    }
    view_.row_loss = memory_.allocate<double>(2 * B);
    if (device_ranks_) static_parts_.row_sums = allocate_rank_sums(memory_, 2 * view_.B);
  }

  void allocate_chain() {
    if (view_.Kp > kMostStates) {
      throw_invalid("options", "states must be at most {} on a GPU, got {}", kMostStates, view_.K);
    }
    const std::size_t B = view_.B, D = view_.D;
    ChainParts& parts = chain_parts_;
    for (float** moves : {&parts.log_moves, &parts.first_moves, &parts.second_moves, &parts.moves,
                          &parts.moves_transposed}) {
      *moves = floats(padded_moves());
    }
    if (plan_.keeps_average) parts.average_moves = floats(padded_moves());
    parts.moves_high = floats(D - 1);
    const std::vector<float> share(B, 1.0f / static_cast<float>(B));
    for (int side = 0; side < 2; ++side) {
      parts.before[side] = floats(D * B * view_.Kp);
      parts.after[side] = floats(D * B * view_.Kp);
      parts.log_sums[side] = floats(D * B);
      static_parts_.factors[side] = memory_.upload(share);
    }
  }

  void allocate_matching() {
    const std::size_t D = view_.D, B = view_.B, Kp = view_.Kp, Sp = view_.Sp, S = view_.S;
    MatchingParts& parts = matching_parts_;
    parts.kind = *plan_.matching;
    parts.step_weights = memory_.upload(plan_.chain.step_weights);
    parts.tiles_of_part = choose_tiles_of_part(matching_view(view_));
    const MatchingView view = matching_view(view_);
    parts.log_r = floats(D * B * Kp);
    parts.terms = floats(D * B * Kp);
    parts.total = floats(B * Kp);
    parts.total_terms = floats(B * Kp);
    parts.row_high = floats(B * count_slices(view));
    parts.shift = floats(D * B);
    parts.partial = floats(static_cast<std::size_t>(count_parts(view)) * D * B * Sp);
    parts.back = floats(D * B * Sp);
    parts.mixed_gradient = floats(padded_size());
    parts.exact_rows = memory_.allocate<int>(D * B);
    parts.any_exact = memory_.allocate<int>(D);
    parts.exact_back = memory_.allocate<double>(D * B * S);
    parts.exact_log_v = memory_.allocate<double>(D * B * S);
    view_.exact_gradient = floats(padded_size());
    view_.row_loss = memory_.allocate<double>(D * B);
  }

  // Loss, gradient and update on both streams, which are forked before and joined after.
  void launch(const CpView& view, const Batch& batch) {
    if (view.entropy > 0.0f) {
      join();
      launch_entropy(view, device_ranks_.get(), stream_);
      fork();
    }
    if (matching()) {
      launch_matching(matching_view(view), batch, stream_, second_stream_);
    } else if (chain()) {
      stream_.follow(second_stream_);
      launch_passes(chain_view(view), batch, stream_);
      second_stream_.follow(stream_);
      launch_moves(chain_view(view), second_stream_);
      launch_weighed(static_view(view), batch, stream_);
    } else {
      launch_static(static_view(view), batch, device_ranks_.get(), stream_);
    }
  }

  // What an update of the static loss finds made of its parameters.
  void propagate() {
    launch_propagate(static_view(view_), stream_);
    if (chain()) launch_scale_moves(chain_view(view_), stream_);
  }

  void fork() { second_stream_.follow(stream_); }
  void join() { stream_.follow(second_stream_); }

  // The batches of the updates from `ahead` on.
  void draw(int ahead, const Batch& batches, cudaStream_t stream) {
    CpView view = view_;
    view.ahead = ahead;
    launch_draws(view, source0_.view(), source1_.view(), pinned_, coupling_, batches, stream);
    if (!matching()) launch_sort(static_view(view), batches, kBatchesAhead, stream);
  }

  void update(const Batch& batches, int number) {
    CpView view = view_;
    view.ahead = number;
    launch(view, batch_at(view, batches, number));
  }

  // Updates from the batches of one half while those of the other half are drawn.
  void record_updates(std::size_t half) {
    draw_stream_.follow(stream_);
    draw(kBatchesAhead, batches_[1 - half], draw_stream_);
    fork();
    for (int i = 0; i < kBatchesAhead; ++i) update(batches_[half], i);
    join();
    stream_.follow(draw_stream_);
    launch_count(view_, stream_);
  }

  void run_part(std::int64_t first_step, std::span<const CpUpdate> updates,
                std::span<double> losses) {
    std::vector<UpdateSettings> settings;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      AdamWSettings adamw = plan_.adamw;
      adamw.learning_rate = updates[i].learning_rate;
      settings.push_back({adamw_step(adamw, first_step + static_cast<std::int64_t>(i)),
                          static_cast<float>(updates[i].average_share)});
    }
    const Progress start{static_cast<unsigned long long>(first_step - 1), 0};
    BM_CUDA_CHECK(cudaMemcpyAsync(settings_.get(), settings.data(),
                                  settings.size() * sizeof(UpdateSettings), cudaMemcpyHostToDevice,
                                  stream_));
    BM_CUDA_CHECK(
        cudaMemcpyAsync(progress_.get(), &start, sizeof start, cudaMemcpyHostToDevice, stream_));
    draw(0, batches_[0], stream_);
    if (!matching()) propagate();
    const std::size_t graphs = settings.size() / kBatchesAhead;
    for (std::size_t i = 0; i < graphs; ++i) graphs_[i % 2].launch(stream_);
    const int rest = static_cast<int>(settings.size() % kBatchesAhead);
    fork();
    for (int i = 0; i < rest; ++i) update(batches_[graphs % 2], i);
    join();
    BM_CUDA_CHECK(cudaMemcpyAsync(losses.data(), losses_.get(), losses.size() * sizeof(double),
                                  cudaMemcpyDeviceToHost, stream_));
    BM_CUDA_CHECK(cudaStreamSynchronize(stream_));
    if (ranks_) ranks_->count_exchanged(updates.size() * bytes_of_update());
  }

  // A maximum and a sum for each side of a row, and three numbers of the entropy.
  std::uint64_t bytes_of_update() const {
    return sizeof(double) * (4 * plan_.batch_size + (plan_.entropy > 0.0 ? 3 : 0));
  }

  CpTensors<float> read(const float* beta, const float* cores, const float* moves) const {
    CpTensors<float> tensors(view_.D, view_.S, view_.K, chain());
    BM_CUDA_CHECK(
        cudaMemcpy(tensors.log_beta.data(), beta, view_.K * sizeof(float), cudaMemcpyDeviceToHost));
    BM_CUDA_CHECK(cudaMemcpy2D(tensors.log_cores.data(), view_.K * sizeof(float), cores,
                               view_.Kp * sizeof(float), view_.K * sizeof(float),
                               static_cast<std::size_t>(view_.D) * view_.S,
                               cudaMemcpyDeviceToHost));
    const std::size_t K = view_.K, Kp = view_.Kp;
    std::vector<float> padded(padded_moves());
    BM_CUDA_CHECK(
        cudaMemcpy(padded.data(), moves, padded.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < tensors.log_moves.size(); ++i) {
      tensors.log_moves[i] = padded[(i / K / K * Kp + i / K % K) * Kp + i % K];
    }
    return tensors;
  }

  void write(const CpTensors<float>& tensors, float padding, float* beta, float* cores,
             float* moves) {
    std::vector<float> padded(static_cast<std::size_t>(view_.Kp), padding);
    std::copy(tensors.log_beta.begin(), tensors.log_beta.end(), padded.begin());
    BM_CUDA_CHECK(
        cudaMemcpy(beta, padded.data(), padded.size() * sizeof(float), cudaMemcpyHostToDevice));
    BM_CUDA_CHECK(cudaMemset(cores, 0, padded_size() * sizeof(float)));
    BM_CUDA_CHECK(cudaMemcpy2D(cores, view_.Kp * sizeof(float), tensors.log_cores.data(),
                               view_.K * sizeof(float), view_.K * sizeof(float),
                               static_cast<std::size_t>(view_.D) * view_.S,
                               cudaMemcpyHostToDevice));
    const std::size_t K = view_.K, Kp = view_.Kp;
    padded.assign(padded_moves(), padding);
    for (std::size_t i = 0; i < tensors.log_moves.size(); ++i) {
      padded[(i / K / K * Kp + i / K % K) * Kp + i % K] = tensors.log_moves[i];
    }
    BM_CUDA_CHECK(
        cudaMemcpy(moves, padded.data(), padded.size() * sizeof(float), cudaMemcpyHostToDevice));
  }

  CpTrainerPlan plan_;
  std::shared_ptr<RankGroup> ranks_;           // that share the components; may be empty
  std::unique_ptr<DeviceRanks> device_ranks_;  // their GPUs, likewise
  DeviceSource source0_, source1_;
  Buffer<UpdateSettings> settings_;
  Buffer<Progress> progress_;
  Buffer<double> losses_;
  Memory memory_;
  CpView view_{};
  StaticParts static_parts_{};
  ChainParts chain_parts_{};
  MatchingParts matching_parts_{};
  PinnedView pinned_{};
  CouplingView coupling_{};
  std::array<Batch, 2> batches_{};
  std::array<Graph, 2> graphs_;
  FiniteCheck finite_;
  mutable CpTrainingState read_;  // what state() has read
  Stream stream_, second_stream_, draw_stream_;
};

}  // namespace

std::unique_ptr<CpTrainer> CudaBackend::make_trainer(const Context& context,
                                                     CpTrainerPlan plan) const {
  require_device();
  if (context.ranks) choose_device_of_rank(*context.ranks);
  return std::make_unique<CudaCpTrainer>(context.ranks, std::move(plan));
}

}  // namespace bridgemark::backend::cuda
