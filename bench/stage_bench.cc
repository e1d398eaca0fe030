// Where the time of drawing joint pairs goes: the stages of BenchmarkPair::sample_joint one by one,
// each over rows x D coordinates. Arguments: D, threads.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark::bench {
namespace {

constexpr std::size_t kRows = 20000;
constexpr DrawKey kSourceKey{1, DrawPurpose::kSource};
constexpr DrawKey kConditionalKey{1, DrawPurpose::kConditional};

// What a stage takes in, made once for each D.
struct Fixture {
  explicit Fixture(std::size_t dim)
      : pair(load_pair(fmt::format("d{}-gaussian-0.02", dim))),
        drawn(pair.sample_joint({}, kRows, 1)),
        log_from(
            pair.bridge().propagated_cores({}, ReferenceChain(pair.bridge().process(), 1), 0)) {}

  BenchmarkPair pair;
  PairedStates drawn;
  Array3<double> log_from;  // [D,S,K]
};

const Fixture& fixture(const benchmark::State& state) {
  static std::map<std::int64_t, Fixture> fixtures;
  return fixtures.try_emplace(state.range(0), static_cast<std::size_t>(state.range(0)))
      .first->second;
}

Context context_of(const benchmark::State& state) {
  return {.num_threads = static_cast<int>(state.range(1))};
}

void count_coordinates(benchmark::State& state) {
  const auto coordinates = static_cast<double>(kRows) * static_cast<double>(state.range(0));
  state.counters["per_coord"] = benchmark::Counter(
      coordinates, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void joint(benchmark::State& state) {
  const Fixture& f = fixture(state);
  for (auto _ : state) {
    PairedStates drawn = f.pair.sample_joint(context_of(state), kRows, 1);
    benchmark::DoNotOptimize(drawn.x1.data());
  }
  count_coordinates(state);
}

void allocate_outputs(benchmark::State& state) {
  for (auto _ : state) {
    PairedStates out{States(kRows, static_cast<std::size_t>(state.range(0))),
                     States(kRows, static_cast<std::size_t>(state.range(0)))};
    benchmark::DoNotOptimize(out.x0.data());
    benchmark::DoNotOptimize(out.x1.data());
  }
  count_coordinates(state);
}

void random_numbers(benchmark::State& state) {  // one for each coordinate, on one thread
  for (auto _ : state) {
    double sum = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) {
      DrawSequence draws(kConditionalKey, i);
      for (std::int64_t d = 0; d < state.range(0); ++d) sum += draws.uniform();
    }
    benchmark::DoNotOptimize(sum);
  }
  count_coordinates(state);
}

void source(benchmark::State& state) {
  const Fixture& f = fixture(state);
  States x0(kRows, f.pair.dim());
  for (auto _ : state) f.pair.source().sample(context_of(state), kSourceKey, 0, x0);
  count_coordinates(state);
}

void check_range(benchmark::State& state) {
  const Fixture& f = fixture(state);
  for (auto _ : state) check_states("x0", f.drawn.x0, f.pair.dim(), f.pair.num_categories());
  count_coordinates(state);
}

void component_weights(benchmark::State& state) {
  const Fixture& f = fixture(state);
  std::vector<double> log_c(kRows);
  for (auto _ : state) {
    backend::of(context_of(state))
        .log_mixture(context_of(state), f.pair.cp_bridge().potential().log_beta(), f.log_from,
                     f.drawn.x0, log_c);
  }
  count_coordinates(state);
}

void conditional(benchmark::State& state) {
  const Fixture& f = fixture(state);
  States x1(kRows, f.pair.dim());
  for (auto _ : state) {
    f.pair.bridge().sample(context_of(state), f.drawn.x0, kConditionalKey, 0, x1);
  }
  count_coordinates(state);
}

void prepare(benchmark::State& state) {  // once for each pair: cores, tables; 20,000 draws on top
  const Fixture& f = fixture(state);
  States x1(kRows, f.pair.dim());
  for (auto _ : state) {
    const CpBridge fresh(f.pair.bridge().process(), f.pair.cp_bridge().potential());
    fresh.sample(context_of(state), f.drawn.x0, kConditionalKey, 0, x1);
  }
}

// The stages put together are the whole.
bool stages_make_the_joint() {
  const Fixture f(16);
  States x0(kRows, 16), x1(kRows, 16);
  f.pair.source().sample({}, kSourceKey, 0, x0);
  f.pair.bridge().sample({}, x0, kConditionalKey, 0, x1);
  return x0 == f.drawn.x0 && x1 == f.drawn.x1;
}

void stage_arguments(benchmark::internal::Benchmark* b) {
  b->ArgNames({"D", "threads"})->Unit(benchmark::kMicrosecond)->UseRealTime();
  for (const int threads : {1, 2}) {
    for (const int dim : {16, 64}) b->Args({dim, threads});
  }
}

void single_thread_arguments(benchmark::internal::Benchmark* b) {
  b->ArgNames({"D", "threads"})->Unit(benchmark::kMicrosecond)->UseRealTime();
  for (const int dim : {16, 64}) b->Args({dim, 1});
}

BENCHMARK(joint)->Apply(stage_arguments);
BENCHMARK(source)->Apply(stage_arguments);
BENCHMARK(conditional)->Apply(stage_arguments);
BENCHMARK(component_weights)->Apply(stage_arguments);
BENCHMARK(random_numbers)->Apply(single_thread_arguments);
BENCHMARK(check_range)->Apply(single_thread_arguments);
BENCHMARK(allocate_outputs)->Apply(single_thread_arguments);
BENCHMARK(prepare)->Apply(stage_arguments);

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (!bridgemark::bench::stages_make_the_joint()) {
    std::fprintf(stderr, "check failed: the stages do not draw the states of sample_joint\n");
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
