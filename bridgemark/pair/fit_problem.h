#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/source_distribution.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// Two sets of observed states and the reference process between them: own data, without a truth, or
// a training set of a pair, whose truth a solver must not see.
struct DataEnds {
  SourceDistribution x0;
  SourceDistribution x1;
  ReferenceProcess reference;
  std::string name = "data";  // what messages call the rows
};

// All that a solver may know: a reference process and unpaired rows of two ends, those of a
// benchmark pair or of own data. Cheap to copy.
class FitProblem {
 public:
  FitProblem(BenchmarkPair pair);  // a pair is a problem wherever one is asked for

  // Rows [n,D] and [m,D], each drawn alike. Throws InvalidArgument unless both are states of the
  // reference's categories, at least one of each, of as many coordinates.
  FitProblem(States x0, States x1, ReferenceProcess reference, std::string name = "data");

  std::size_t dim() const;
  int num_categories() const;
  ReferenceProcess reference() const;

  // What messages call it: the name of the pair or of the rows.
  std::string_view name() const;

  // Rows first_index.. of the endless sequence of a seed, unpaired.
  States sample_x0(const Context& context, std::size_t count, std::uint64_t seed,
                   std::uint64_t first_index = 0) const;
  States sample_x1(const Context& context, std::size_t count, std::uint64_t seed,
                   std::uint64_t first_index = 0) const;

  // The same rows, described for a device.
  backend::RowSource x0_rows(const Context& context, std::uint64_t seed) const;
  backend::RowSource x1_rows(const Context& context, std::uint64_t seed) const;

  // Null where the problem is the other of the two.
  const BenchmarkPair* pair() const { return std::get_if<BenchmarkPair>(&ends_); }
  const DataEnds* data() const { return std::get_if<DataEnds>(&ends_); }

 private:
  std::variant<BenchmarkPair, DataEnds> ends_;
};

}  // namespace bridgemark
