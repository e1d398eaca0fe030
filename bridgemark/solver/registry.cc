#include "bridgemark/solver/registry.h"

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/solver/baseline/baselines.h"
#include "bridgemark/solver/chain/dlightsb_chain.h"
#include "bridgemark/solver/cp/dlightsb.h"
#include "bridgemark/solver/csbm/csbm.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/sinkhorn/sinkhorn.h"

namespace bridgemark {

const std::vector<std::unique_ptr<Solver>>& all_solvers() {
  static const std::vector<std::unique_ptr<Solver>> solvers = [] {
    std::vector<std::unique_ptr<Solver>> list;
    list.push_back(make_oracle());
    list.push_back(make_independent());
    list.push_back(make_reference());
    list.push_back(make_feature_wise());
    list.push_back(make_sinkhorn());
    list.push_back(make_dlightsb());
    list.push_back(make_dlightsb_m());
    list.push_back(make_dlightsb_chain());
    list.push_back(make_dlightsb_tree());
    list.push_back(make_csbm());
    list.push_back(make_alpha_csbm());
    return list;
  }();
  return solvers;
}

const Solver& find_solver(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& solver : all_solvers()) {
    if (solver->name() == name) return *solver;
    names.push_back(solver->name());
  }
  if (const OutsideSolver* outside = find_outside_solver(std::string(name))) return *outside;
  for (std::string& installed : outside_solver_names()) names.push_back(std::move(installed));
  throw_invalid("solver", "solver must be one of {}, got '{}'{}", fmt::join(names, ", "), name,
                nearest_hint(name, names));
}

}  // namespace bridgemark
