#include "bridgemark/report/report.h"
#include "bridgemark/io/disk/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/added_results.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/report_figures.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/worst_rows.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/submission/score_destination.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Stands in for Debian's scripts: the report only copies them. tests/browser/check_report.py opens
// a real one in a browser.
class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    std::filesystem::create_directory(vega());
    for (const char* module :
         {"util",      "time",      "format",         "loader",          "canvas",
          "dataflow",  "scale",     "scenegraph",     "statistics",      "expression",
          "selection", "functions", "event-selector", "runtime",         "view",
          "parser",    "encode",    "transforms",     "view-transforms", "interpreter"}) {
      std::ofstream(vega() / ("vega-" + std::string(module) + ".min.js"))
          << "/* " << module << " */ const end = \"</script>\";";
    }
  }

  std::filesystem::path vega() const { return dir_.path() / "vega"; }

  // A run of the small pair in `dim` dimensions, as `run` leaves it.
  RunResult make_run(const std::string& solver, int dim) const {
    const std::filesystem::path pair_path = dir_.path() / ("pair" + std::to_string(dim));
    if (!std::filesystem::exists(pair_path)) {
      PairSpec spec = testing::small_spec();
      spec.dim = dim;
      write_pair_folder({}, testing::pair_with_test_set(spec, 300), pair_path);
    }
    RunResult result;
    result.experiment = "a <b> & \"c\" {{js}}";
    result.run = "pair" + std::to_string(dim) + "." + solver;
    result.method = solver;
    result.solver = solver;
    result.pair = pair_path.string();
    result.dim = dim;
    result.evaluation_num_steps = 4;
    result.pair_identity = {{"reverse", false}};
    result.scores = {{"conditional_shape_score", 0.5, 0.1, {0.5}}};
    RunConfig config{solver, result.pair, 0, {}};
    if (solver == "dlightsb") {
      config.options = {{"updates", "900"}, {"components", "5"}, {"log_every", "1"}};
    }
    train_run({}, config, dir_.path() / "runs" / result.run, false);
    return result;
  }

  // What the page holds for its script.
  static nlohmann::json data_of(const std::string& html) {
    const std::string open = "<script id=\"data\" type=\"application/json\">";
    const std::size_t start = html.find(open) + open.size();
    return nlohmann::json::parse(html.substr(start, html.find("</script>", start) - start));
  }

  testing::TempDir dir_;
};

TEST_F(ReportTest, IsOneFileThatHoldsItsData) {
  const std::vector<RunResult> results = {make_run("oracle", 2), make_run("independent", 2)};
  const std::vector<Table> tables = make_tables(results, false);
  const std::string html = report_html({}, dir_.path(), results, tables, {vega()});
  EXPECT_THAT(html, AllOf(HasSubstr("<title>Bridgemark: a &lt;b&gt; &amp; \"c\" {{js}}</title>"),
                          HasSubstr("\"vega-selections\": function (exports, module, require) {\n"
                                    "/* selection */ const end = \"<\\/script>\";")));
  // No script but its own two.
  EXPECT_THAT(html, HasSubstr("content=\"default-src 'none'; script-src 'nonce-"));
  const std::string nonce = html.substr(html.find("'nonce-") + 7, 32);
  EXPECT_EQ(count_of(html, "<script nonce=\"" + nonce + "\">"), 2u);
  EXPECT_EQ(count_of(html, "<script"), 3u);  // and the data
  EXPECT_THAT(report_html({}, dir_.path(), results, tables, {vega()}), Not(HasSubstr(nonce)));
  // Nothing from elsewhere.
  EXPECT_THAT(html,
              AllOf(Not(HasSubstr("<link")), Not(HasSubstr("src=")), Not(HasSubstr("@import"))));
  const nlohmann::json data = data_of(html);
  EXPECT_EQ(data["experiment"], results[0].experiment);
  EXPECT_EQ(data["tables"][0]["rows"][0]["cells"][0]["mean"], 0.5);
  EXPECT_EQ(data["runs"].size(), 2u);
  EXPECT_THAT(data["runs"][0]["commands"][0].get<std::string>(),
              HasSubstr("bridgemark train oracle --pair "));
  // The corrections as HTML, without links to pages that are no part of the report.
  EXPECT_THAT(html,
              AllOf(HasSubstr("<h3>1. The first step of the pinned reference is left out</h3>"),
                    HasSubstr("<td>conditional shape</td>"), HasSubstr("<pre><code>"),
                    Not(HasSubstr("<a href=\"../")), Not(HasSubstr(".md\""))));
  EXPECT_EQ(data["runs"][0]["family"], "own");  // no preset
  const nlohmann::json& table = data["tables"][0];
  EXPECT_EQ(table["csv"], csv_tables(tables));
  EXPECT_EQ(table["tex"], latex_tables(tables));
  EXPECT_EQ(table["against_time"], true);
  EXPECT_EQ(data["deciding"],
            nlohmann::json({{"score", "joint_kl"}, {"title", "Joint KL"}, {"unit", "nats"}}));
  ASSERT_EQ(data["figures"].size(), 1u);
  const nlohmann::json& figure = data["figures"][0];
  EXPECT_EQ(figure["projection"], "coordinates");
  EXPECT_EQ(figure["input"].size(), 300u);
  EXPECT_EQ(figure["methods"][0]["samples"].size(), 300u);
  EXPECT_EQ(figure["methods"][0]["trajectories"].size(), 12u);  // four paths from three inputs
  EXPECT_EQ(figure["methods"][0]["trajectories"][0].size(), 5u);
  EXPECT_EQ(figure["methods"][1]["trajectories"].size(), 0u);  // independent has no transitions
}

// An outside solver has its answers in the figures and no training to repeat.
TEST_F(ReportTest, ShowsWhatWasAdded) {
  RunResult run = make_run("oracle", 2);
  run.pair_identity.update({{"name", "small"}, {"version", 1}, {"seed", 4}});
  write_results({run}, dir_.path());
  const BenchmarkPair pair = load_pair(run.pair);
  const Fitted reference = testing::fit_solver("reference", pair);
  evaluate_to({}, pair, *reference.coupling, {.num_steps = 4},
              {.add_to = dir_.path(), .label = "mine <b>", .pair_name = run.pair});
  const std::vector<RunResult> results = load_results(dir_.path() / kResultsJsonl);
  ASSERT_EQ(results.size(), 2u);
  const std::vector<Table> tables = make_tables(results, false);
  const nlohmann::json data = data_of(report_html({}, dir_.path(), results, tables, {vega()}));
  const nlohmann::json& figure = data["figures"][0];
  ASSERT_EQ(figure["methods"].size(), 2u);
  EXPECT_EQ(figure["methods"][1]["method"], "mine <b>");
  EXPECT_EQ(figure["methods"][1]["samples"].size(), 300u);
  EXPECT_NE(figure["methods"][1]["samples"], figure["methods"][0]["samples"]);
  EXPECT_EQ(data["runs"][0]["outside"], false);
  EXPECT_EQ(data["runs"][1]["outside"], true);
  ASSERT_EQ(data["runs"][1]["commands"].size(), 1u);
  EXPECT_THAT(
      data["runs"][1]["commands"][0].get<std::string>(),
      AllOf(HasSubstr(" --predictions ANSWERS "), HasSubstr(" --label 'mine <b>' --add-to DIR ")));
}

TEST_F(ReportTest, FiguresAreThePairsOwn) {
  const std::vector<RunResult> results = {make_run("oracle", 2)};
  const BenchmarkPair pair = load_pair(results[0].pair);
  const nlohmann::json figure = report_figures({}, dir_.path(), results).at(0);
  const PairedStates test = pair.test_set({});
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(figure["input"][i], nlohmann::json({test.x0(i, 0), test.x0(i, 1)}));
    EXPECT_EQ(figure["target"][i], nlohmann::json({test.x1(i, 0), test.x1(i, 1)}));
  }
  const auto& path = figure["methods"][0]["trajectories"][0];
  EXPECT_EQ(path[0], figure["input"][0]);
}

// Draws given an input follow q(. | x0): those of the Oracle and of the truth agree, those of
// Independent do not depend on the input.
TEST_F(ReportTest, ConditionalsTellWhoIgnoresTheInput) {
  const std::vector<RunResult> results = {make_run("oracle", 2), make_run("independent", 2)};
  const nlohmann::json figure = report_figures({}, dir_.path(), results).at(0);
  const auto mean = [](const nlohmann::json& cloud, int axis) {
    double sum = 0;
    for (const nlohmann::json& point : cloud) sum += point[axis].get<double>();
    return sum / static_cast<double>(cloud.size());
  };
  // The largest distance between the means of two clouds.
  const auto apart = [&](const nlohmann::json& a, const nlohmann::json& b) {
    double most = 0;
    for (const nlohmann::json& one : a) {
      for (const nlohmann::json& other : b) {
        most = std::max(most,
                        std::hypot(mean(one, 0) - mean(other, 0), mean(one, 1) - mean(other, 1)));
      }
    }
    return most;
  };
  const nlohmann::json &truth = figure["conditional"]["truth"],
                       &oracle = figure["methods"][0]["conditional"],
                       &independent = figure["methods"][1]["conditional"];
  ASSERT_EQ(figure["conditional"]["x0"].size(), 3u);
  ASSERT_EQ(truth.size(), 3u);
  ASSERT_EQ(independent.size(), 3u);
  EXPECT_EQ(truth[0].size(), 150u);
  EXPECT_NE(truth, oracle) << "draws of their own";
  // A coordinate of 0..5 has a standard deviation of at most 2.5, the difference of two means of
  // 150 draws one of at most 0.29: more than three of those. The seeds are fixed.
  constexpr double kNoise = 1.0;
  for (int c = 0; c < 3; ++c) {
    EXPECT_LT(apart(nlohmann::json::array({truth[c]}), nlohmann::json::array({oracle[c]})), kNoise);
  }
  EXPECT_LT(apart(independent, independent), kNoise);
  EXPECT_GT(apart(truth, truth), kNoise);
  EXPECT_EQ(figure["methods"][0]["oracle"], true);
  EXPECT_EQ(figure["methods"][1]["oracle"], false);
}

// Of many dimensions the coordinates whose means differ most between the inputs are shown, and a
// path is the first of them against the time.
TEST_F(ReportTest, ManyDimensionsShowTheCoordinatesThatTell) {
  const std::vector<RunResult> results = {make_run("oracle", 5)};
  const nlohmann::json figure = report_figures({}, dir_.path(), results).at(0);
  const std::size_t first = figure["coordinates"][0], second = figure["coordinates"][1];
  EXPECT_NE(first, second);
  EXPECT_LT(std::max(first, second), 5u);
  // The exact share of each coordinate's variance that lies between the means of the inputs, which
  // are all three that a test set of 300 rows has.
  const BenchmarkPair pair = load_pair(results[0].pair);
  const States x0 = pair.test_set({}).x0, inputs = conditional_inputs(x0);
  ASSERT_EQ(inputs.rows(), 3u);
  Array3<double> log_marginals;
  pair.require_truth({})->log_marginals({}, inputs, log_marginals);
  std::vector<double> share(5);
  for (std::size_t d = 0; d < 5; ++d) {
    double mean = 0, square = 0, between = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      double group = 0;
      for (std::size_t state = 0; state < 6; ++state) {
        const auto value = static_cast<double>(state);
        const double p = std::exp(log_marginals(i, d, state));
        group += p * value;
        square += p * value * value / 3;
      }
      mean += group / 3;
      between += group * group / 3;
    }
    share[d] = (between - mean * mean) / (square - mean * mean);
  }
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return share[a] > share[b]; });
  EXPECT_EQ(first, order[0]);
  EXPECT_EQ(second, order[1]);
  const nlohmann::json& path = figure["methods"][0]["trajectories"][0];
  ASSERT_EQ(path.size(), 5u);
  EXPECT_EQ(path[0], nlohmann::json({0.0, x0(0, first)}));
  EXPECT_EQ(path[4][0], 1.0);
  EXPECT_EQ(figure["conditional"]["x0"][0], nlohmann::json({x0(0, first), x0(0, second)}));
}

// Corrections are open where all pairs of the paper were measured.
TEST_F(ReportTest, KnowsAReportOfThePaper) {
  const RunResult run = make_run("oracle", 2);
  std::vector<RunResult> results;
  for (const PairSpec& spec : preset_specs()) {
    if (spec.family != PairFamily::kSpread) continue;
    results.push_back(run);
    results.back().pair = spec.name;
    results.back().run = "not there";
  }
  const auto data = [&] {
    return data_of(report_html({}, dir_.path(), results, make_tables(results, false), {vega()}));
  };
  EXPECT_EQ(data()["of_paper"], true);
  EXPECT_EQ(data()["runs"][0]["family"], "spread");
  results.pop_back();
  EXPECT_EQ(data()["of_paper"], false);
}

// The page marks the best of a pair by what decides, not by the first table.
TEST_F(ReportTest, SaysWhoIsBestAndByWhat) {
  std::vector<RunResult> results = {make_run("oracle", 2), make_run("reference", 2),
                                    make_run("feature-wise", 2)};
  const double shape[] = {0.99, 0.9, 0.5}, joint[] = {0.0, 0.4, 0.3};
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].scores = {{"conditional_shape_score", shape[i], 0.001, {}},
                         {"joint_kl", joint[i], 0.001, {}}};
  }
  const nlohmann::json best =
      data_of(report_html({}, dir_.path(), results, make_tables(results, false), {vega()}))["best"]
          .at(0);
  EXPECT_EQ(best["score"], "Joint KL");
  ASSERT_EQ(best["methods"].size(), 1u);
  EXPECT_EQ(best["methods"][0]["method"], "feature-wise");
  EXPECT_EQ(best["methods"][0]["text"], "0.300");
  EXPECT_EQ(best["oracle"], "0");
  EXPECT_EQ(best["compared"], 2);
}

// The rows with their states where the pair can be made again, of the first run of each method but
// the Oracle.
TEST_F(ReportTest, ShowsTheRowsThatCarryTheJointKl) {
  std::vector<RunResult> results = {make_run("oracle", 5), make_run("reference", 5),
                                    make_run("feature-wise", 5)};
  for (RunResult& result : results) {
    result.scores = {{"joint_kl", 0.4, 0.001, {}, {}, {}, 0.01}};
    result.joint_kl = {.rows = 300,
                       .particles = 16,
                       .half_particles_change = 0.01,
                       .worst_share = 0.25,
                       .worst_rows = {7, 0, 299, 1, 2, 3},
                       .worst_values = {9.5, 5.0, 4.0, 3.0, 2.0, 1.0}};
  }
  results.push_back(results[1]);
  results[3].seed = 1;
  results[2].joint_kl.worst_values[0] = std::numeric_limits<double>::infinity();
  results[2].joint_kl.worst_share = std::numeric_limits<double>::quiet_NaN();
  const auto data = [&] {
    return data_of(report_html({}, dir_.path(), results, make_tables(results, false), {vega()}));
  };
  const nlohmann::json pair = data()["worst"].at(0), methods = pair["methods"];
  EXPECT_EQ(pair["pair"], results[0].pair);
  ASSERT_EQ(methods.size(), 2u);
  EXPECT_EQ(methods[0]["method"], "reference");
  EXPECT_EQ(methods[0]["text"], "≤ 0.400");
  EXPECT_EQ(methods[0]["rows"], 300);
  EXPECT_EQ(methods[0]["share"], 0.25);
  const nlohmann::json& worst = methods[0]["worst"];
  ASSERT_EQ(worst.size(), kReportedWorstRows);
  EXPECT_EQ(worst[0]["row"], 7);
  EXPECT_EQ(worst[0]["kl"], 9.5);
  const PairedStates test = load_pair(results[0].pair).test_set({});
  for (std::size_t d = 0; d < 5; ++d) {
    EXPECT_EQ(worst[0]["x0"][d], test.x0(7, d));
    EXPECT_EQ(worst[2]["x1"][d], test.x1(299, d));
  }
  EXPECT_EQ(methods[1]["worst"][0]["kl"], "inf");
  EXPECT_EQ(methods[1]["share"], nullptr);
  // A pair that is another one now, or is not there, and a record without values.
  results[1].pair_identity["fingerprint"] = "another";
  results[1].joint_kl.worst_values.clear();
  const nlohmann::json row = data()["worst"][0]["methods"][0]["worst"][0];
  EXPECT_EQ(row, nlohmann::json({{"row", 7}, {"kl", nullptr}}));
  for (RunResult& result : results) result.run = "not there";
  EXPECT_FALSE(data()["worst"][0]["methods"][0]["worst"][0].contains("x0"));
  for (RunResult& result : results) result.joint_kl = {};
  EXPECT_EQ(data()["worst"].size(), 0u);
}

// The first two components of the target's cloud: centred, uncorrelated, and as wide as they claim.
TEST_F(ReportTest, HighDimensionsAreProjected) {
  const std::vector<RunResult> results = {make_run("reference", 5)};
  const nlohmann::json figure = report_figures({}, dir_.path(), results).at(0);
  EXPECT_EQ(figure["projection"], "pca");
  const States x1 = load_pair(results[0].pair).test_set({}).x1;
  double mean[2] = {0, 0}, square[2] = {0, 0}, product = 0, total = 0;
  for (std::size_t d = 0; d < 5; ++d) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      sum += x1(i, d);
      squares += x1(i, d) * x1(i, d);
    }
    total += squares / 300 - (sum / 300) * (sum / 300);
  }
  for (const nlohmann::json& point : figure["target"]) {
    for (int axis = 0; axis < 2; ++axis) {
      mean[axis] += point[axis].get<double>() / 300;
      square[axis] += point[axis].get<double>() * point[axis].get<double>() / 300;
    }
    product += point[0].get<double>() * point[1].get<double>() / 300;
  }
  constexpr double kRounding = 0.01;  // of two decimals
  EXPECT_NEAR(mean[0], 0.0, kRounding);
  EXPECT_NEAR(mean[1], 0.0, kRounding);
  EXPECT_NEAR(product, 0.0, kRounding);
  EXPECT_GE(square[0], square[1]);
  EXPECT_NEAR(square[0] / total, figure["explained"][0].get<double>(), kRounding);
  EXPECT_NEAR(square[1] / total, figure["explained"][1].get<double>(), kRounding);
}

TEST_F(ReportTest, CurvesAreThinnedAndEndWhereTrainingEnds) {
  const std::vector<RunResult> results = {make_run("dlightsb", 2), make_run("oracle", 2)};
  const nlohmann::json curves = training_curves(dir_.path(), results);
  ASSERT_EQ(curves.size(), 1u);  // the Oracle trains nothing
  EXPECT_EQ(curves[0]["solver"], "dlightsb");
  EXPECT_EQ(curves[0]["points"].size(), 300u);
  EXPECT_EQ(curves[0]["points"].back()[0], 900);
}

// A bridge logs its objective, networks their loss; what is no number is left out.
TEST_F(ReportTest, CurvesHaveTheLossOfRowsHeldOut) {
  const std::vector<RunResult> results = {make_run("dlightsb", 2)};
  write_file_atomically(dir_.path() / "runs" / results[0].run / "log.jsonl",
                        R"({"update":1,"loss":2.0,"seconds":1.0,"held_out":3.5}
{"update":2,"loss":2.0,"seconds":1.0,"held_out_loss":0.25}
{"update":3,"loss":2.0,"seconds":1.0}
{"update":4,"loss":2.0,"seconds":1.0,"held_out":"high"}
)");
  const nlohmann::json points = training_curves(dir_.path(), results)[0]["points"];
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0][3], -3.5);
  EXPECT_EQ(points[1][3], 0.25);
  EXPECT_TRUE(points[2][3].is_null());
  EXPECT_TRUE(points[3][3].is_null());
}

// Of lines with a score; one that could not be given is left out.
TEST_F(ReportTest, CurvesHaveTheScoresOfValidation) {
  const std::vector<RunResult> results = {make_run("dlightsb", 2)};
  EXPECT_TRUE(training_curves(dir_.path(), results)[0]["validation"].is_null());
  write_file_atomically(dir_.path() / "runs" / results[0].run / "log.jsonl",
                        R"({"update":1,"loss":2.0,"seconds":1.0,"joint_kl":3.5,"joint_kl_error":0.5}
{"update":2,"loss":2.0,"seconds":2.0}
{"update":3,"loss":2.0,"seconds":3.0,"joint_kl":null,"joint_kl_error":null}
{"update":4,"loss":2.0,"seconds":4.0,"joint_kl":0.25,"joint_kl_error":null}
)");
  const nlohmann::json curve = training_curves(dir_.path(), results)[0]["validation"];
  EXPECT_EQ(curve["score"], "joint_kl");
  EXPECT_EQ(curve["title"], "Joint KL");
  EXPECT_EQ(curve["points"], nlohmann::json::parse("[[1,1.0,3.5,0.5],[4,4.0,0.25,null]]"));
}

// An id of somebody else's results is no way out of the folder.
TEST_F(ReportTest, IdsAreNamesInTheFolder) {
  std::vector<RunResult> results = {make_run("dlightsb", 2)};
  const std::string id = results[0].run;
  EXPECT_EQ(training_curves(dir_.path(), results).size(), 1u);
  for (const std::string& other :
       {"../runs/" + id, (dir_.path() / "runs" / id).string(), std::string(".."), std::string()}) {
    results[0].run = other;
    EXPECT_EQ(training_curves(dir_.path(), results).size(), 0u) << other;
    EXPECT_EQ(report_figures({}, dir_.path(), results).size(), 0u) << other;
  }
}

// A pair folder that was moved, or is another one by now, costs its figures and nothing else.
TEST_F(ReportTest, APairThatIsNotThereAnyMoreIsLeftOut) {
  namespace fs = std::filesystem;
  std::vector<RunResult> results = {make_run("oracle", 2), make_run("reference", 3)};
  for (RunResult& result : results) {
    result.pair_identity = pair_record(load_pair(result.pair));
    result.joint_kl.worst_rows = {1, 2};
    result.scores.push_back({.name = "joint_kl", .mean = 0.5, .values = {0.5}});
  }
  EXPECT_EQ(report_figures({}, dir_.path(), results).size(), 2u);
  fs::rename(dir_.path() / "pair2", dir_.path() / "moved");
  const std::vector<Table> tables = make_tables(results, false);
  const nlohmann::json data = data_of(report_html({}, dir_.path(), results, tables, {vega()}));
  ASSERT_EQ(data["figures"].size(), 1u);
  EXPECT_EQ(data["figures"][0]["pair"], results[1].pair);
  fs::rename(dir_.path() / "pair3", dir_.path() / "pair2");  // another pair of that name
  EXPECT_EQ(report_figures({}, dir_.path(), results).size(), 0u);
  fs::remove_all(dir_.path() / "pair2");
  fs::rename(dir_.path() / "moved", dir_.path() / "pair2");
  EXPECT_EQ(report_figures({}, dir_.path(), results).size(), 1u);
  // The experiment and its pairs have moved together, and the report is made from elsewhere.
  fs::create_directory(dir_.path() / "all");
  for (const char* part : {"pair2", "runs"}) {
    fs::rename(dir_.path() / part, dir_.path() / "all" / part);
  }
  EXPECT_EQ(report_figures({}, dir_.path() / "all", results).size(), 1u);
}

TEST_F(ReportTest, WorksWithoutModelsAndSaysWhereVegaIs) {
  std::vector<RunResult> results = {make_run("oracle", 2)};
  results[0].run = "not there";
  const std::vector<Table> tables = make_tables(results, false);
  EXPECT_THAT(report_html({}, dir_.path(), results, tables, {vega()}), HasSubstr("\"figures\":[]"));
  std::filesystem::remove(vega() / "vega-view.min.js");
  try {
    report_html({}, dir_.path(), results, tables, {vega()});
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("vega-view.min.js"), HasSubstr("libjs-vega"), HasSubstr("--vega")));
  }
}

}  // namespace
}  // namespace bridgemark
