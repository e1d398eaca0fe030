#include "bridgemark/pair/pair_equality.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/process/same_process.h"

namespace bridgemark {

namespace {

bool same_identity(const PairIdentity& a, const PairIdentity& b) {
  return a.name == b.name && a.version == b.version && a.seed == b.seed && a.family == b.family;
}

bool near(const Matrix<double>& a, const Matrix<double>& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(std::exp(a.data()[i]) - std::exp(b.data()[i])) <= 1e-12)) return false;
  }
  return true;
}

bool same_source(const SourceDistribution& a, const SourceDistribution& b) {
  if (a.kind() != b.kind() || a.dim() != b.dim() || a.num_categories() != b.num_categories()) {
    return false;
  }
  switch (a.kind()) {
    case SourceKind::kGaussian:
    case SourceKind::kUniform:
      return a.low() == b.low() && a.high() == b.high();
    case SourceKind::kProduct:
      return near(a.log_pmf(), b.log_pmf());
    case SourceKind::kEmpirical:
      return a.states() == b.states();
    case SourceKind::kMixture:
    case SourceKind::kTree:
      break;  // made of the potential of x0, or of the bridge's law of x0
  }
  return true;
}

bool same_tree(const TreeShape* a, const TreeShape* b) { return a && b ? *a == *b : a == b; }

bool same_potential(const BenchmarkPair& a, const BenchmarkPair& b) {
  const Bridge &p = a.bridge(), &q = b.bridge();
  const auto &f = a.source_potential(), &g = b.source_potential();
  if (f.has_value() != g.has_value()) return false;
  if (f && (f->log_beta() != g->log_beta() || f->log_cores() != g->log_cores())) return false;
  const auto &tree = a.source_tree(), &other_tree = b.source_tree();
  if (tree.has_value() != other_tree.has_value()) return false;
  if (tree &&
      (tree->log_root() != other_tree->log_root() || tree->log_moves() != other_tree->log_moves() ||
       tree->log_cores() != other_tree->log_cores())) {
    return false;
  }
  const SourceLaw *start = p.source(), *other_start = q.source();
  if ((start == nullptr) != (other_start == nullptr)) return false;
  if (start && (start->log_weights() != other_start->log_weights() ||
                start->log_cores() != other_start->log_cores())) {
    return false;
  }
  return std::ranges::equal(p.log_weights(), q.log_weights()) && p.log_cores() == q.log_cores() &&
         p.log_moves() == q.log_moves() && same_tree(p.tree(), q.tree());
}

}  // namespace

bool equal_pairs(const Context& context, const BenchmarkPair& a, const BenchmarkPair& b) {
  if (!same_identity(a.identity(), b.identity()) || a.reverse() != b.reverse() ||
      !same_potential(a, b) || !same_process(a.bridge().process(), b.bridge().process()) ||
      !same_source(a.source(), b.source())) {
    return false;
  }
  const PairedStates left = a.test_set(context), right = b.test_set(context);
  return left.x0 == right.x0 && left.x1 == right.x1;
}

}  // namespace bridgemark
