#include "bridgemark/solver/csbm/csbm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/metric/trajectory_kl.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"
#include "bridgemark/solver/csbm/network_bridge.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "tests/support/killed_run.h"
#include "tests/support/model_file.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::fit_solver;
using testing::parameters_of;
using testing::TempDir;

// 4 steps, 3 D-IMF iterations of 10, 6 and 6 updates of each network.
RunConfig small_network_run(const std::string& solver) {
  RunConfig config{solver, "d2-gaussian-0.05", 3, {}};
  config.options = {{"num_steps", "4"},        {"imf_iterations", "3"},   {"updates_first", "10"},
                    {"updates_later", "6"},    {"batch_size", "24"},      {"hidden", "17,12"},
                    {"input", "embedding"},    {"log_every", "5"},        {"checkpoint_every", "0"},
                    {"learning_rate", "0.01"}, {"initial", "independent"}};
  return config;
}

TEST(Csbm, StoppedAndResumedGivesTheSameParameters) {
  const std::string shares[] = {"0.5", "auto"};
  for (const auto& [solver, share] : {std::pair{std::string("csbm"), shares[0]},
                                      {"alpha-csbm", shares[0]},
                                      {"csbm", shares[1]}}) {
    SCOPED_TRACE(solver + " " + share);
    const TempDir dir;
    RunConfig config = small_network_run(solver);
    config.options["first_share"] = share;
    if (share == "auto") config.options["updates_first"] = "1000";  // from which on ends are seen
    train_run(Context{.num_threads = 1}, config, dir.path() / "whole", false);

    Context stopping{.num_threads = 3};
    int asked = 0;
    const int stop = share == "auto"    ? 2007
                     : solver == "csbm" ? 27
                                        : 13;  // in the second iteration
    stopping.stop = [&] { return ++asked == stop; };
    EXPECT_THROW(train_run(stopping, config, dir.path() / "parts", false), Interrupted);
    train_run(Context{.num_threads = 2}, config, dir.path() / "parts", true);

    EXPECT_EQ(parameters_of(dir.path() / "parts"), parameters_of(dir.path() / "whole"));
    EXPECT_EQ(load_json(dir.path() / "parts" / "result.json")["diagnostics"]["resumed_from"], stop);
  }
}

// With all of them on first pairs, later iterations go on with the first.
TEST(Csbm, LaterIterationsOnFirstPairsAloneAreOneLongIteration) {
  const TempDir dir;
  RunConfig several = small_network_run("alpha-csbm");
  several.options["schedule"] = "constant";
  several.options["first_share"] = "1";
  RunConfig one = several;
  one.options["imf_iterations"] = "1";
  one.options["updates_first"] = "22";
  one.options.erase("updates_later");
  one.options.erase("first_share");
  train_run(Context{.num_threads = 1}, several, dir.path() / "several", false);
  train_run(Context{.num_threads = 1}, one, dir.path() / "one", false);
  EXPECT_EQ(parameters_of(dir.path() / "several"), parameters_of(dir.path() / "one"));

  several.options["first_share"] = "0.5";
  train_run(Context{.num_threads = 1}, several, dir.path() / "half", false);
  EXPECT_NE(parameters_of(dir.path() / "half"), parameters_of(dir.path() / "one"));
}

TEST(Csbm, KilledRunsResume) {
  const TempDir dir;
  RunConfig config = small_network_run("csbm");
  config.options["updates_first"] = "30";
  config.options["updates_later"] = "30";
  train_run(Context{.num_threads = 1}, config, dir.path() / "whole", false);
  const std::filesystem::path folder = dir.path() / "killed";
  testing::train_through_kills(config, folder, 4);
  EXPECT_EQ(parameters_of(folder), parameters_of(dir.path() / "whole"));
}

TEST(Csbm, LogNamesTheIterationOfEachLine) {
  const TempDir dir;
  train_run(Context{.num_threads = 1}, small_network_run("csbm"), dir.path() / "run", false);
  std::ifstream in(dir.path() / "run" / "log.jsonl");
  std::vector<std::pair<int, int>> lines;
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    lines.emplace_back(entry["update"].get<int>(), entry["imf_iteration"].get<int>());
    EXPECT_TRUE(std::isfinite(entry["loss"].get<double>()));
  }
  // A line every 5 updates and at the end of each iteration: 20, 32 and 44.
  const std::vector<std::pair<int, int>> expected = {{5, 1},  {10, 1}, {15, 1}, {20, 1}, {25, 2},
                                                     {30, 2}, {32, 2}, {35, 3}, {40, 3}, {44, 3}};
  EXPECT_EQ(lines, expected);
}

TEST(Csbm, ProgressShowsTheIteration) {
  Context context{.num_threads = 1};
  std::string details;
  context.progress = [&](std::string_view, std::uint64_t, std::uint64_t, std::string_view detail) {
    details += std::string(detail) + "\n";
  };
  const TempDir dir;
  RunConfig config = small_network_run("alpha-csbm");
  config.options["updates_first"] = config.options["updates_later"] = "40";
  train_run(context, config, dir.path() / "run", false);
  EXPECT_NE(details.find("D-IMF iteration 1 of 3, loss"), std::string::npos) << details;
  EXPECT_NE(details.find("D-IMF iteration 2 of 3, loss"), std::string::npos) << details;
}

TEST(Csbm, DivergenceStopsAndKeepsTheLastCheckpoint) {
  const TempDir dir;
  RunConfig config = small_network_run("csbm");
  config.options["learning_rate"] = "100";
  config.options["weight_decay"] = "100";
  config.options["updates_first"] = "100";
  try {
    train_run(Context{.num_threads = 1}, config, dir.path() / "run", false);
    FAIL() << "did not stop";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("diverged at update"), std::string::npos);
  }
  EXPECT_FALSE(is_complete_run(dir.path() / "run"));
  const auto progress = SafetensorsFile::load(dir.path() / "run" / "checkpoint.safetensors")
                            .read_doubles("training_progress");
  EXPECT_GT(progress[0], 0.0);
}

TEST(CsbmRecipe, ScheduleOfIterationsAndDirections) {
  CsbmRecipe recipe{};
  recipe.imf_iterations = 3;
  recipe.updates_first = 3;
  recipe.updates_later = 2;
  recipe.ema = 0.999;
  EXPECT_EQ(recipe.updates(), 14);
  std::vector<int> iterations;
  std::string directions;
  for (std::int64_t step = 1; step <= 14; ++step) {
    iterations.push_back(recipe.iteration(step));
    directions += recipe.direction(step) == Direction::kForward ? 'f' : 'b';
  }
  EXPECT_EQ(iterations, (std::vector<int>{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(directions, "fffbbbffbbffbb");

  // Both networks at once: half as many updates.
  recipe.both_directions = true;
  EXPECT_EQ(recipe.updates(), 7);
  EXPECT_EQ(recipe.iteration(3), 1);
  EXPECT_EQ(recipe.iteration(4), 2);
  EXPECT_DOUBLE_EQ(recipe.ema_at(1), 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(recipe.ema_at(1000000), 0.999);
}

TEST(CsbmRecipe, LaterIterationsKeepAnEvenShareOfFirstPairs) {
  CsbmRecipe recipe{};
  recipe.updates_first = 3;
  const auto kinds = [&](double share) {
    std::string first;
    for (std::int64_t count = 1; count <= 11; ++count) {
      first += recipe.on_first_pairs(count, share) ? '1' : '0';
    }
    return first;
  };
  EXPECT_EQ(kinds(0.0), "11100000000");
  EXPECT_EQ(kinds(0.5), "11101010101");
  EXPECT_EQ(kinds(0.25), "11100010001");
  EXPECT_EQ(kinds(1.0), "11111111111");
}

TEST(CsbmRecipe, SchedulesOfTheRate) {
  CsbmRecipe recipe{};
  recipe.imf_iterations = 3;
  recipe.updates_first = 4;
  recipe.updates_later = 2;
  recipe.learning_rate = 8.0;
  const auto rates = [&](CsbmRecipe::Schedule schedule) {
    recipe.schedule = schedule;
    std::vector<double> of_updates;
    for (std::int64_t count = 1; count <= 8; ++count) of_updates.push_back(recipe.rate_at(count));
    return of_updates;
  };
  using ::testing::DoubleNear;
  using ::testing::Pointwise;
  EXPECT_EQ(rates(CsbmRecipe::Schedule::kConstant), std::vector<double>(8, 8.0));
  const auto cosine = rates(CsbmRecipe::Schedule::kCosine);
  EXPECT_DOUBLE_EQ(cosine[0], 8.0);
  EXPECT_DOUBLE_EQ(cosine[4], 4.0);
  EXPECT_GT(cosine[7], 0.0);
  EXPECT_LT(cosine[7], 0.4);
  const double quarter = 4.0 + 2.0 * std::sqrt(2.0);
  EXPECT_THAT(rates(CsbmRecipe::Schedule::kRestarts),
              Pointwise(DoubleNear(1e-12), {8.0, quarter, 4.0, 8.0 - quarter, 8.0, 4.0, 8.0, 4.0}));
}

// What the paper says, by the resolved options of each solver.
TEST(CsbmRecipe, PaperHasThePublishedUpdates) {
  for (const auto& [name, updates] : {std::pair{"csbm", 280000}, {"alpha-csbm", 140000}}) {
    const Solver& solver = find_solver(name);
    SolverOptions options(solver.options());
    options.set("recipe", "paper");
    solver.resolve(options);
    EXPECT_EQ(options.text("initial"), "independent");
    EXPECT_EQ(options.text("input"), "numbers");
    const bool both = std::string(name) == "alpha-csbm";
    const CsbmRecipe recipe = read_csbm_recipe(options, {both, "64", ""});
    EXPECT_EQ(recipe.updates(), updates);
    EXPECT_EQ(recipe.learning_rate, both ? 1e-3 : 1e-4);
  }
}

// One dimension, so that the transitions of the truth are in the model's reach: the fixed point of
// D-IMF is the pair's own bridge.
class TinyPair : public ::testing::Test {
 protected:
  static PairSpec spec(bool nonsymmetric) {
    PairSpec tiny = nonsymmetric ? testing::nonsymmetric_spec() : testing::small_spec();
    tiny.dim = 1;
    tiny.total_steps = 8;
    if (!nonsymmetric) tiny.gamma = 0.2;
    return tiny;
  }

  // KL(truth || model) of 4-step trajectories, the mean over x0 ~ p0.
  static double forward_kl(const BenchmarkPair& pair, const Coupling& model) {
    const States x0 = pair.sample_x0({}, 4000, 5);
    return trajectory_kl({}, *pair.truth({}), model, 4, x0, 6).mean;
  }

  // KL(truth || model) of the same trajectories read from x1 to x0, exact: by Bayes' rule from the
  // truth's transitions and marginals.
  static double backward_kl(const BenchmarkPair& pair, const Coupling& model) {
    const States states = testing::all_states(1, pair.num_categories());
    const std::size_t S = states.rows();
    std::vector<double> before = testing::source_probabilities(pair, states);
    double kl = 0.0;
    for (int n = 0; n < 4; ++n) {
      Array3<double> log_truth, log_model;
      pair.truth({})->log_transition_marginals({}, 4, n, states, log_truth);
      model.log_transition_marginals({}, 4, 3 - n, states, log_model);
      std::vector<double> after(S, 0.0);
      for (std::size_t x = 0; x < S; ++x) {
        for (std::size_t y = 0; y < S; ++y) after[y] += before[x] * std::exp(log_truth(x, 0, y));
      }
      for (std::size_t x = 0; x < S; ++x) {
        for (std::size_t y = 0; y < S; ++y) {
          const double joint = before[x] * std::exp(log_truth(x, 0, y));
          if (joint > 0.0) kl += joint * (std::log(joint / after[y]) - log_model(y, 0, x));
        }
      }
      before = after;
    }
    return kl;
  }

  // One thread: threads would cost more than these small networks.
  static Fitted fit(const std::string& solver, const BenchmarkPair& pair,
                    const std::vector<std::string>& assignments) {
    return fit_solver(solver, pair, assignments, 0, Context{.num_threads = 1});
  }

  static std::vector<std::string> options(const std::string& iterations,
                                          const std::string& initial = "independent") {
    std::vector<std::string> all = {"num_steps=4",       "imf_iterations=" + iterations,
                                    "updates_first=500", "batch_size=64",
                                    "hidden=24",         "learning_rate=0.005",
                                    "embedding_size=6",  "input=embedding",
                                    "points=1",          "ema=0.995",
                                    "schedule=constant", "initial=" + initial};
    if (iterations != "1") all.push_back("updates_later=500");
    if (initial != "independent") all.push_back("initial_pairs=8192");
    if (initial == "minibatch-ot") all.push_back("initial_batch=64");
    return all;
  }
};

TEST_F(TinyPair, CsbmReachesTheFixedPoint) {
  constexpr double kBound = 0.01;
  for (const bool nonsymmetric : {false, true}) {
    SCOPED_TRACE(nonsymmetric);
    const BenchmarkPair pair = build_pair(spec(nonsymmetric));
    const double after_one = forward_kl(pair, *fit("csbm", pair, options("1")).coupling);
    const Fitted fitted = fit("csbm", pair, options("8"));
    const double reached = forward_kl(pair, *fitted.coupling);
    EXPECT_LT(reached, kBound);
    // On the other pair the ends hardly depend on each other, and one iteration does.
    if (!nonsymmetric) {
      EXPECT_GT(after_one, 1.5 * kBound) << "the iterations had nothing to do";
    }

    EXPECT_LT(backward_kl(pair, *fitted.coupling->reversed()), kBound);
  }
}

TEST_F(TinyPair, AlphaCsbmReachesTheFixedPoint) {
  const BenchmarkPair pair = build_pair(spec(false));
  EXPECT_LT(forward_kl(pair, *fit("alpha-csbm", pair, options("8")).coupling), 0.01);
}

TEST_F(TinyPair, SquaresAndOtherStartsAlsoDo) {
  const BenchmarkPair pair = build_pair(spec(false));
  std::vector<std::string> squares = options("8");
  squares.push_back("loss=mse");
  for (const std::vector<std::string>& assignments :
       {squares, options("8", "minibatch-ot"), options("8", "feature-wise"),
        options("8", "reference")}) {
    SCOPED_TRACE(assignments.back());
    EXPECT_LT(forward_kl(pair, *fit("csbm", pair, assignments).coupling), 0.03);
  }
}

// Better first pairs are nearer to the truth after one iteration; in one dimension those of the
// feature-wise bridge are the truth.
TEST_F(TinyPair, FirstPairsDecideTheFirstIteration) {
  const BenchmarkPair pair = build_pair(spec(false));
  const auto kl_from = [&](const std::string& initial) {
    return forward_kl(pair, *fit("csbm", pair, options("1", initial)).coupling);
  };
  const double independent = kl_from("independent");
  EXPECT_LT(kl_from("minibatch-ot"), independent);
  EXPECT_LT(kl_from("feature-wise"), 0.01);
}

class FittedBridge : public ::testing::Test {
 protected:
  FittedBridge() : pair_(build_pair(testing::nonsymmetric_spec())) {
    fitted_ = fit_solver("csbm", pair_,
                         {"num_steps=4", "imf_iterations=2", "updates_first=4", "updates_later=4",
                          "batch_size=8", "hidden=9", "initial_pairs=100"});
  }

  BenchmarkPair pair_;
  Fitted fitted_;
};

TEST_F(FittedBridge, SurvivesItsFile) {
  const TempDir dir;
  const Solver& solver = find_solver("csbm");
  const auto path = dir.path() / "model.safetensors";
  solver.save(*fitted_.coupling, path);
  const auto loaded = solver.load({}, pair_, path);
  const auto& before = dynamic_cast<const NetworkBridge&>(*fitted_.coupling);
  const auto& after = dynamic_cast<const NetworkBridge&>(*loaded);
  EXPECT_EQ(after.forward().shape, before.forward().shape);
  EXPECT_EQ(after.forward().values, before.forward().values);
  EXPECT_EQ(after.backward().values, before.backward().values);
  const States x0 = pair_.sample_x0({}, 50, 1);
  States one(50, 2), other(50, 2);
  before.sample({}, x0, {4}, 0, one);
  after.sample({}, x0, {4}, 0, other);
  EXPECT_EQ(one, other);

  // A file for another space, and one with a number that is none.
  EXPECT_THROW(solver.load({}, build_pair(testing::small_spec()), path), FileError);
  backend::NetworkTensors<float> broken = before.forward();
  broken.values[3] = std::nanf("");
  const NetworkBridge bad(
      make_two_way_steps({}, pair_.reference(), 4),
      std::make_shared<const backend::NetworkTensors<float>>(broken),
      std::make_shared<const backend::NetworkTensors<float>>(before.backward()));
  solver.save(bad, path);
  EXPECT_THROW(solver.load({}, pair_, path), FileError);
}

TEST_F(FittedBridge, HasTransitionsOnItsOwnGridAlone) {
  const Coupling& bridge = *fitted_.coupling;
  EXPECT_TRUE(bridge.has_transitions(4));
  EXPECT_FALSE(bridge.has_transitions(8));
  EXPECT_EQ(bridge.own_num_steps(), 4);
  EXPECT_FALSE(bridge.has_joint());
  const States x0 = pair_.sample_x0({}, 3, 1);
  Array3<double> out;
  EXPECT_THROW(bridge.log_transition_marginals({}, 8, 0, x0, out), InvalidArgument);
  EXPECT_THROW(bridge.log_transition_marginals({}, 4, 4, x0, out), InvalidArgument);
  const States outside(1, 2, 5);
  States next(1, 2);
  EXPECT_THROW(bridge.sample_transition({}, 4, 0, outside, {}, 0, next), InvalidArgument);
  EXPECT_THROW(bridge.sample({}, outside, {}, 0, next), InvalidArgument);
  const Context device{.device = Device::kCuda};
  States drawn(3, 2);
  EXPECT_THROW(bridge.sample(device, x0, {}, 0, drawn), DeviceError);
  EXPECT_THROW(bridge.log_transition_marginals(device, 4, 0, x0, out), DeviceError);
  const Array3<std::int32_t> path = sample_markov_trajectory({}, bridge, 4, x0, 1, 0);
  EXPECT_EQ(path.extent(1), 5u);
}

TEST(Csbm, BadOptionsAreNamed) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const auto message = [&](const std::string& assignment) {
    try {
      fit_solver("csbm", pair,
                 {"num_steps=4", "imf_iterations=1", "updates_first=1", "hidden=3",
                  "initial_pairs=100", assignment});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("hidden=5"), "accepted");
  for (const char* hidden : {"hidden=", "hidden=5,", "hidden=,5", "hidden=5;5", "hidden=0",
                             "hidden=-3", "hidden=65537", "hidden=1e3"}) {
    EXPECT_NE(message(hidden).find("hidden must be"), std::string::npos) << hidden;
  }
  EXPECT_NE(message("loss=ce").find("kl, mse"), std::string::npos);
  EXPECT_NE(message("input=onehot").find("numbers, embedding"), std::string::npos);
  EXPECT_NE(message("initial=ot").find("independent, reference, feature-wise, minibatch-ot"),
            std::string::npos);
  EXPECT_NE(message("schedule=linear").find("constant, cosine, restarts"), std::string::npos);
  EXPECT_NE(message("recipe=best").find("tuned, paper"), std::string::npos);
  EXPECT_NE(message("initial_pairs=0").find("initial_pairs"), std::string::npos);
  EXPECT_NE(message("ema=1.5").find("ema must be"), std::string::npos);
  EXPECT_NE(message("imf_iterations=0").find("imf_iterations"), std::string::npos);
  EXPECT_NE(message("num_steps=3").find("num_steps"), std::string::npos);
  EXPECT_NE(message("updates=5").find("updates_"), std::string::npos);
  EXPECT_NE(message("x1_data=missing.npy").find("missing.npy"), std::string::npos);
}

}  // namespace
}  // namespace bridgemark
