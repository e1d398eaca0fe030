#include "bridgemark/pair/custom_pair.h"

#include <set>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/component_means.h"
#include "bridgemark/pair/family_numbers.h"

namespace bridgemark {

namespace {

// A size that an argument and any of the arrays may say.
class Size {
 public:
  Size(const char* name, std::optional<int> given) : name_(name) {
    if (given) said_.insert(*given);
  }

  void add(std::size_t size) { said_.insert(static_cast<std::int64_t>(size)); }
  bool known() const { return !said_.empty(); }

  int agreed(int otherwise) const {
    if (said_.size() > 1) {
      throw_invalid("pair", "{} must be the same in all arguments, got [{}]", name_,
                    fmt::join(said_, ", "));
    }
    return said_.empty() ? otherwise : static_cast<int>(*said_.begin());
  }

 private:
  const char* name_;
  std::set<std::int64_t> said_;
};

// Nothing for the standard normal, which a spec without a source has.
std::optional<SourceDistribution> named_source(const std::string& name, const PairSpec& spec) {
  if (name == source_kind_name(SourceKind::kGaussian)) return std::nullopt;
  if (name == source_kind_name(SourceKind::kUniform)) {
    return SourceDistribution::uniform(static_cast<std::size_t>(spec.dim), spec.num_categories,
                                       -kUniformSourceRange, kUniformSourceRange);
  }
  throw_invalid("pair", "source must be gaussian, uniform, a pmf [D,S] or states [n,D], got '{}'",
                name);
}

void require_drawn_tree(const PairSpec& spec) {
  if (spec.family != PairFamily::kTree || spec.tree_potential) {
    throw_invalid("pair", "tree goes with family tree and a potential that is drawn, got {}",
                  spec.tree_potential ? "a potential of your own"
                                      : fmt::format("family {}", pair_family_name(spec.family)));
  }
}

// Of the potential of each end that is drawn.
void require_min_distances(PairSpec spec, const Context& context) {
  if (!spec.potential && !spec.chain_potential && !spec.tree_potential)
    require_min_distance(spec, context);
  if (!draws_source_potential(spec)) return;
  spec.seed = source_potential_seed(spec);
  require_min_distance(spec, context);
}

}  // namespace

ReferenceKind named_reference(const std::string& name) {
  for (const ReferenceKind kind : {ReferenceKind::kGaussian, ReferenceKind::kUniform}) {
    if (reference_kind_name(kind) == name) return kind;
  }
  throw_invalid("pair", "reference must be gaussian, uniform or a matrix [S,S], got '{}'", name);
}

PairSpec custom_spec(PairParts parts, const Context& context) {
  PairSpec spec = std::move(parts.spec);
  if (parts.min_distance) set_family_number(spec, "min_distance", *parts.min_distance);
  auto* matrix = std::get_if<Matrix<double>>(&parts.reference);
  auto* low_rank = std::get_if<LowRankFactors>(&parts.reference);
  auto* pmf = std::get_if<Matrix<double>>(&parts.source);
  auto* states = std::get_if<States>(&parts.source);
  Size dim("dim", parts.dim), num_categories("num_categories", parts.num_categories);
  if (matrix) num_categories.add(matrix->rows());
  if (low_rank) num_categories.add(low_rank->u.rows());
  if (pmf) {
    dim.add(pmf->rows());
    num_categories.add(pmf->cols());
  }
  if (states) dim.add(states->cols());
  if (spec.potential) {
    dim.add(spec.potential->dim());
    num_categories.add(static_cast<std::size_t>(spec.potential->num_categories()));
    spec.num_components = static_cast<int>(spec.potential->num_components());
  }
  if (spec.chain_potential) {
    dim.add(spec.chain_potential->dim());
    num_categories.add(static_cast<std::size_t>(spec.chain_potential->num_categories()));
    spec.num_components = static_cast<int>(spec.chain_potential->num_components());
  }
  if (spec.tree_potential) {
    dim.add(spec.tree_potential->dim());
    num_categories.add(static_cast<std::size_t>(spec.tree_potential->num_categories()));
    spec.num_components = static_cast<int>(spec.tree_potential->num_components());
  }
  const TreeShape* const shape = parts.tree ? std::get_if<TreeShape>(&*parts.tree) : nullptr;
  if (shape) dim.add(shape->dim());
  if (spec.source_potential) {
    dim.add(spec.source_potential->dim());
    num_categories.add(static_cast<std::size_t>(spec.source_potential->num_categories()));
  }
  if (states && !num_categories.known()) {
    throw_invalid("pair", "num_categories must be given with a source of states, got none");
  }
  spec.dim = dim.agreed(spec.dim);
  spec.num_categories = num_categories.agreed(spec.num_categories);
  if (matrix && parts.gamma) {
    throw_invalid("pair", "gamma goes with reference gaussian or uniform, got {} and a matrix",
                  *parts.gamma);
  }
  if (parts.gamma) spec.gamma = *parts.gamma;
  if (matrix) {
    spec.reference = ReferenceKind::kMatrix;
    spec.reference_matrix = std::move(*matrix);
  } else if (low_rank) {
    spec.reference = ReferenceKind::kLowRank;
    spec.low_rank = std::move(*low_rank);
  } else {
    spec.reference = named_reference(std::get<std::string>(parts.reference));
  }
  check_spec(spec);  // before a source of that size is made
  if (parts.tree) {
    require_drawn_tree(spec);
    spec.tree = shape ? *shape
                      : TreeShape::named(std::get<std::string>(*parts.tree),
                                         static_cast<std::size_t>(spec.dim));
  }
  if (parts.min_distance) require_min_distances(spec, context);
  if (pmf) {
    spec.source = SourceDistribution::product(*pmf);
  } else if (states) {
    spec.source = SourceDistribution::empirical(std::move(*states), spec.num_categories);
  } else {
    spec.source = named_source(std::get<std::string>(parts.source), spec);
  }
  return spec;
}

PairSpec sibling_of(PairSpec preset, std::uint64_t seed) {
  if (preset.family == PairFamily::kDistilled) {
    if (seed == preset.seed) return preset;
    throw_invalid("pair", "seed of {} must be {}, as its parameters are fixed, got {}", preset.name,
                  preset.seed, seed);
  }
  preset.seed = seed;
  preset.name += fmt::format("-seed-{}", seed);
  return preset;
}

}  // namespace bridgemark
