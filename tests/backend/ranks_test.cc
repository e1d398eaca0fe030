#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/backend/ranks/component_share.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/chain_tables.h"
#include "tests/io/io_testing.h"
#include "tests/support/cp_problem.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/tolerance.h"

// One potential whose components several ranks share, against the same on one.
namespace bridgemark {
namespace {

using backend::ComponentShare;
using backend::CpTensors;
using testing::CpProblem;

constexpr testing::Tolerance kSame{1e-12, 1e-12};

// The components of a share, and a share put back in its place.
template <typename T>
CpTensors<T> slice(const CpTensors<T>& whole, const ComponentShare& share) {
  CpTensors<T> part(whole.dim, whole.num_categories, share.count);
  std::copy_n(whole.log_beta.begin() + share.first, share.count, part.log_beta.begin());
  for (std::size_t row = 0; row < whole.dim * whole.num_categories; ++row) {
    std::copy_n(whole.log_cores.begin() + row * whole.num_components + share.first, share.count,
                part.log_cores.begin() + row * share.count);
  }
  return part;
}
template <typename T>
void put_back(const CpTensors<T>& part, const ComponentShare& share, CpTensors<T>& whole) {
  std::copy_n(part.log_beta.begin(), share.count, whole.log_beta.begin() + share.first);
  for (std::size_t row = 0; row < whole.dim * whole.num_categories; ++row) {
    std::copy_n(part.log_cores.begin() + row * share.count, share.count,
                whole.log_cores.begin() + row * whole.num_components + share.first);
  }
}

template <typename T>
struct Evaluated {
  double loss = 0.0;
  CpTensors<T> gradient;
  std::vector<double> log_c, log_v;
};

template <typename T>
Evaluated<T> evaluate(const Context& context, const CpProblem& problem,
                      const CpTensors<T>& parameters) {
  const auto tables = make_chain_tables<T>(context, ReferenceChain(problem.chain.process(), 1));
  Evaluated<T> result{0.0, parameters, std::vector<double>(problem.x0.rows()),
                      std::vector<double>(problem.x0.rows())};
  backend::CpWorkspace<T> workspace;
  result.loss =
      backend::of(context).static_loss(context, parameters, tables, problem.x0, problem.x1,
                                       result.gradient, workspace, result.log_c, result.log_v);
  return result;
}

// What the ranks have together; losses and log-sums are the same on all of them.
template <typename T>
Evaluated<T> evaluate_on(int ranks, const CpProblem& problem, const CpTensors<T>& parameters) {
  std::vector<Evaluated<T>> parts(static_cast<std::size_t>(ranks));
  std::vector<ComponentShare> shares(parts.size());
  testing::on_ranks(ranks, [&](std::shared_ptr<RankGroup> group) {
    const auto own = static_cast<std::size_t>(group->rank());
    const Context context{.num_threads = 1, .ranks = group};
    shares[own] = backend::component_share(context, parameters.num_components);
    parts[own] = evaluate(context, problem, slice(parameters, shares[own]));
  });
  Evaluated<T> whole{parts[0].loss, parameters, parts[0].log_c, parts[0].log_v};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].loss, whole.loss);
    EXPECT_EQ(parts[i].log_c, whole.log_c);
    EXPECT_EQ(parts[i].log_v, whole.log_v);
    put_back(parts[i].gradient, shares[i], whole.gradient);
  }
  return whole;
}

std::vector<CpProblem> rank_problems() {
  std::vector<CpProblem> list;
  list.push_back(
      testing::make_problem({ReferenceProcess::gaussian(7, 0.4, 8), 4}, 3, 700, 11, 3.0, 1));
  list.push_back(
      testing::make_problem({ReferenceProcess::uniform(5, 0.1, 8), 8}, 2, 515, 9, 40.0, 2));
  list.push_back(
      testing::make_problem({ReferenceProcess::gaussian(30, 0.02, 16), 8}, 3, 513, 8, 80.0, 3));
  return list;
}

TEST(Ranks, SharesAreWholeBlocksThatCoverAllComponents) {
  for (const std::size_t components : {129, 512, 513, 1000, 20000}) {
    for (const int ranks : {1, 2, 3, 4, 5, 7}) {
      std::size_t next = 0, least = components, most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ComponentShare share = backend::component_share(components, rank, ranks);
        EXPECT_EQ(share.first, next);
        EXPECT_TRUE(share.first % backend::kShareGrain == 0 || share.count == 0);
        next = share.first + share.count;
        least = std::min(least, share.count);
        most = std::max(most, share.count);
      }
      EXPECT_EQ(next, components);
      EXPECT_LE(most - least, 2 * backend::kShareGrain - 1);
    }
  }
}

TEST(Ranks, MoreRanksThanBlocksAreRefused) {
  EXPECT_EQ(testing::error_of<InvalidArgument>([] {
              testing::on_ranks(3, [](std::shared_ptr<RankGroup> group) {
                backend::component_share({.ranks = group}, 256);
              });
            }),
            "[ranks] ranks must be at most 2 for 256 components, one for each 128, got 3");
}

TEST(Ranks, LossAndGradientInDoublesAreThoseOfOneRank) {
  for (const CpProblem& problem : rank_problems()) {
    const auto one = evaluate<double>({.num_threads = 1}, problem, problem.parameters);
    for (const int ranks : {1, 2, 3, 5}) {
      SCOPED_TRACE(ranks);
      const auto several = evaluate_on<double>(ranks, problem, problem.parameters);
      EXPECT_TRUE(testing::is_near(several.loss, one.loss, kSame));
      EXPECT_TRUE(testing::all_near(several.log_c, one.log_c, kSame));
      EXPECT_TRUE(testing::all_near(several.log_v, one.log_v, kSame));
      EXPECT_TRUE(testing::all_near(several.gradient.log_beta, one.gradient.log_beta, kSame));
      EXPECT_TRUE(testing::all_near(several.gradient.log_cores, one.gradient.log_cores, kSame));
    }
  }
}

// What makes runs reproducible: not a bit depends on the number of ranks.
TEST(Ranks, LossAndGradientInFloatsHaveTheBitsOfOneRank) {
  for (const CpProblem& problem : rank_problems()) {
    const auto parameters = testing::convert<float>(problem.parameters);
    const auto one = evaluate<float>({.num_threads = 1}, problem, parameters);
    for (const int ranks : {2, 3, 5}) {
      SCOPED_TRACE(ranks);
      const auto several = evaluate_on<float>(ranks, problem, parameters);
      EXPECT_EQ(several.loss, one.loss);
      EXPECT_EQ(several.gradient.log_beta, one.gradient.log_beta);
      EXPECT_EQ(several.gradient.log_cores, one.gradient.log_cores);
    }
  }
}

// A maximum and a sum in two parts for each side of a row: 48 bytes, whatever the model's size.
TEST(Ranks, ExchangeIsLinearInTheBatchAndIndependentOfTheModel) {
  for (const std::size_t components : {256, 1024}) {
    for (const std::size_t batch : {1, 16, 32, 64}) {
      const CpProblem problem = testing::make_problem({ReferenceProcess::uniform(5, 0.1, 8), 8}, 2,
                                                      components, batch, 1.0, 6);
      testing::on_ranks(2, [&](std::shared_ptr<RankGroup> group) {
        const Context context{.num_threads = 1, .ranks = group};
        evaluate(context, problem,
                 slice(problem.parameters, backend::component_share(context, components)));
        EXPECT_EQ(group->bytes_exchanged(), 48 * batch);
      });
    }
  }
}

// Infinity in one share is everybody's: all ranks see it in the loss and stop at the same update.
TEST(Ranks, ADivergedShareIsSeenByAll) {
  CpProblem problem = rank_problems()[0];
  problem.parameters.log_beta[600] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(
      std::isfinite(evaluate<double>({.num_threads = 1}, problem, problem.parameters).loss));
  testing::on_ranks(3, [&](std::shared_ptr<RankGroup> group) {
    const Context context{.num_threads = 1, .ranks = group};
    const ComponentShare share = backend::component_share(context, 700);
    EXPECT_FALSE(std::isfinite(evaluate(context, problem, slice(problem.parameters, share)).loss));
  });
}

}  // namespace
}  // namespace bridgemark
