#pragma once

#include <map>
#include <optional>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/solver/cp/component_shares.h"

namespace bridgemark {

// What is done to the cores of a potential that was trained on few rows: they are drawn towards
// what they have in common (core_shrinkage.h), then spread by steps of the reference
// (cp_parameters.h).
struct CoreFinish {
  double shrinkage = 0.0;
  double smoothing = 0.0;

  friend bool operator==(const CoreFinish&, const CoreFinish&) = default;
};

// The finishes that a search chooses from: each strength with each number of steps, both rising.
struct CoreFinishes {
  std::vector<double> shrinkages;
  std::vector<double> smoothings;

  // Where the search begins: those that take the first value of one of the two.
  std::vector<CoreFinish> first() const;
  // `best`, and those beside it. The best finish moves slowly in the course of a training.
  std::vector<CoreFinish> near(const CoreFinish& best) const;
};

// An empty value is searched for, another is the only one. Many categories are not shrunk unless
// asked for.
CoreFinishes core_finishes(std::optional<double> shrinkage, std::optional<double> smoothing,
                           const ReferenceProcess& process);

// A potential that can be finished in several ways. It refers to what it is made of.
class CoreFinisher {
 public:
  // x1 are rows that the parameters were trained on, log_reach is that of measure_components.
  CoreFinisher(const Context& context, const ReferenceProcess& process,
               const backend::CpTensors<float>& parameters, const Matrix<double>& log_reach,
               StatesView x1);

  backend::CpTensors<float> finish(const CoreFinish& finish);

 private:
  const Context& context_;
  const ReferenceProcess& process_;
  const backend::CpTensors<float>& parameters_;
  const Matrix<double>& log_reach_;
  StatesView x1_;
  // Made when they are first asked for.
  std::optional<ComponentShares> shares_;
  std::map<double, backend::CpTensors<float>> shrunk_;  // by their strength
};

}  // namespace bridgemark
