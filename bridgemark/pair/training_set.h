#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/fit_problem.h"

// The training sets of a pair: set i is an endless list of rows of either end, of which `samples`
// takes the first n. Row r of set i is a pure function of (pair, i, r): the same on every machine,
// device and number of threads. Nothing pairs row r of x0 with row r of x1, and no draw is shared
// with the test set or with the endless draws of a seed.
namespace bridgemark {

// The most rows a side that may be asked for.
inline constexpr std::size_t kMaxTrainingRows = std::size_t{1} << 28;

// What a solver was trained on.
struct TrainingRows {
  std::size_t samples = 0;         // rows a side of a training set; 0: endless draws, or own data
  std::uint64_t training_set = 0;  // which one; 0 where samples is

  auto operator<=>(const TrainingRows&) const = default;
};

// Rows of the two ends, unpaired.
struct TrainingSet {
  States x0;  // [n,D]
  States x1;  // [n,D]
};

// The first `samples` rows of set `index`. Those of a reversed pair are the same rows swapped.
// Throws InvalidArgument unless samples is 1..kMaxTrainingRows.
TrainingSet training_set(const Context& context, const BenchmarkPair& pair, std::size_t samples,
                         std::uint64_t index = 0);

// What a solver may know that is trained on such rows: they and the reference of the pair; the pair
// itself where draws are endless.
FitProblem training_problem(const Context& context, const BenchmarkPair& pair,
                            const TrainingRows& rows);

// Throws InvalidArgument for more samples than a set has, and for a training set without samples.
void check_training_rows(const TrainingRows& rows);

// How messages and pages call them: "1000 rows of training set 0".
std::string training_rows_text(const TrainingRows& rows);

// How names of runs and folders say it: ".n1000.set0"; empty where draws are endless.
std::string training_rows_suffix(const TrainingRows& rows);

}  // namespace bridgemark
