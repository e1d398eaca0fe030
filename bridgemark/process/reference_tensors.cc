#include "bridgemark/process/reference_tensors.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/process/given_reference.h"
#include "bridgemark/process/low_rank_step.h"
#include "bridgemark/process/sparse_step.h"

namespace bridgemark {

namespace {

constexpr char kMatrix[] = "reference_matrix", kLeft[] = "reference_u", kRight[] = "reference_v",
               kFirst[] = "graph_first", kTo[] = "graph_to", kWeight[] = "graph_weight";

// A tensor [S,columns], of as many columns as `left` has.
Matrix<double> read_factor(const SafetensorsFile& tensors, std::size_t S, const char* name) {
  const std::vector<std::size_t>& shape = tensors.shape(kLeft);
  const std::size_t rank = shape.size() == 2 ? shape[1] : 0;
  tensors.expect_shape(name, std::vector{S, rank});
  return {S, rank, tensors.read_doubles(name)};
}

GraphWeights read_weights(const SafetensorsFile& tensors, std::size_t S) {
  const std::vector<std::size_t>& shape = tensors.shape(kTo);
  const std::size_t entries = shape.size() == 1 ? shape[0] : 0;
  tensors.expect_shape(kFirst, std::vector{S + 1});
  tensors.expect_shape(kTo, std::vector{entries});
  tensors.expect_shape(kWeight, std::vector{entries});
  GraphWeights weights{{}, tensors.read_int32(kTo), tensors.read_doubles(kWeight)};
  const std::vector<std::int32_t> first = tensors.read_int32(kFirst);
  weights.first.assign(first.begin(), first.end());
  return weights;
}

}  // namespace

void add_reference_tensors(SafetensorsWriter& writer, const ReferenceProcess& process) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  if (const Matrix<double>* matrix = process.given_matrix()) {
    writer.add(kMatrix, {S, S}, std::span(matrix->data(), matrix->size()));
  }
  if (const LowRankStep* step = process.low_rank_step()) {
    const auto rank = static_cast<std::size_t>(step->rank());
    writer.add(kLeft, {S, rank}, std::span(step->u().data(), step->u().size()));
    writer.add(kRight, {S, rank}, std::span(step->v().data(), step->v().size()));
  }
  const SparseStep* const step = process.sparse_step();
  if (const GraphWeights* weights = step ? step->weights() : nullptr) {
    writer.add(kFirst, {S + 1}, std::span(weights->first));
    writer.add(kTo, {weights->to.size()}, std::span(weights->to));
    writer.add(kWeight, {weights->weight.size()}, std::span(weights->weight));
  }
}

ReferenceProcess read_reference(const ReferenceNumbers& numbers, const SafetensorsFile& tensors,
                                const std::string& path, const std::string& name) {
  const auto S = static_cast<std::size_t>(std::max(numbers.num_categories, 0));
  const std::optional<ReferenceKind> kind = parse_reference_kind(numbers.kind);
  if (!kind) {
    throw_file(path, "{} must be one of {}, got '{}'", name, reference_kind_names(), numbers.kind);
  }
  switch (*kind) {
    case ReferenceKind::kMatrix:
      tensors.expect_shape(kMatrix, std::vector{S, S});
      return ReferenceProcess::from_matrix({S, S, tensors.read_doubles(kMatrix)},
                                           numbers.total_steps);
    case ReferenceKind::kLowRank:
      return ReferenceProcess::low_rank(read_factor(tensors, S, kLeft),
                                        read_factor(tensors, S, kRight), numbers.gamma,
                                        numbers.total_steps);
    case ReferenceKind::kGraph:
      return ReferenceProcess::graph(read_weights(tensors, S), numbers.gamma, numbers.total_steps);
    default:
      return ReferenceProcess::of_gamma(*kind, numbers.num_categories, numbers.gamma,
                                        numbers.total_steps);
  }
}

}  // namespace bridgemark
