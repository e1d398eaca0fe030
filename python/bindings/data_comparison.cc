#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/own_data/comparison_json.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "bridgemark/solver/run/run_contestant.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/device_arrays.h"
#include "python/bindings/outside_coupling.h"
#include "python/bindings/results.h"
#include "python/bindings/solvers.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

int largest_category(const States& x0, const States& x1) {
  int largest = 1;
  for (const States* states : {&x0, &x1}) {
    for (std::size_t i = 0; i < states->size(); ++i) largest = std::max(largest, states->data()[i]);
  }
  return largest;
}

// S: that of the first fitted coupling, else given, else one more than the largest category.
int categories_of(const nb::list& couplings, const std::optional<WholeNumber>& given,
                  const States& x0, const States& x1) {
  for (const nb::handle coupling : couplings) {
    if (nb::isinstance<FittedCoupling>(coupling)) {
      return nb::cast<const FittedCoupling&>(coupling).fitted.coupling->num_categories();
    }
  }
  if (given) return static_cast<int>(given->in_range("num_categories", 2, kMaxCategories));
  return largest_category(x0, x1) + 1;
}

// A coupling of either kind; the name is the caller's.
struct NamedCoupling {
  std::string name;
  const FittedCoupling* fitted = nullptr;
  std::shared_ptr<const Coupling> outside = nullptr;
};

std::vector<NamedCoupling> read_couplings(const nb::list& couplings,
                                          const std::vector<std::string>& names, nb::handle like,
                                          std::size_t dim, int num_categories) {
  std::vector<NamedCoupling> read;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const nb::handle given = couplings[i];
    read.push_back({names[i]});
    if (nb::isinstance<FittedCoupling>(given)) {
      read.back().fitted = &nb::cast<const FittedCoupling&>(given);
      continue;
    }
    read.back().outside = outside_coupling(given, ArrayLike{nb::borrow(like)}, dim, num_categories);
    if (read.back().outside) continue;
    throw nb::type_error(
        fmt::format("[compare_on] solvers must be fitted solvers or couplings of bridgemark, "
                    "objects with sample(x0, seed) or callables x0 -> x1, got {}",
                    nb::repr(given.type()).c_str())
            .c_str());
  }
  return read;
}

nb::tuple compare_rows(const ArrayLike& x0, const ArrayLike& x1, const nb::list& couplings,
                       const std::vector<std::string>& names, const Seed& seed,
                       const std::optional<WholeNumber>& num_categories, nb::handle like,
                       nb::handle progress, const std::string& device_text) {
  const States from = any_states("x0", x0), to = any_states("x1", x1);
  const std::vector<NamedCoupling> given = read_couplings(
      couplings, names, like, from.cols(), categories_of(couplings, num_categories, from, to));
  const Device device = is_on_gpu({nb::borrow(like)}) ? Device::kCuda : parse_device(device_text);
  const DataComparisonOptions options{seed.draw()};
  const DataComparisonRecord record = interruptible(
      [&](const Context& context) {
        std::vector<DataContestant> contestants;
        for (const NamedCoupling& each : given) {
          contestants.push_back(each.fitted
                                    ? run_contestant(context, each.name, each.fitted->config,
                                                     each.fitted->problem,
                                                     each.fitted->fitted.coupling, from.rows())
                                    : DataContestant{.name = each.name, .coupling = each.outside});
        }
        return compare_and_record(context, from, to, contestants, options);
      },
      progress, device);
  nb::list order;
  for (const DataScoreSpec& spec : data_score_specs()) order.append(std::string(spec.name));
  return nb::make_tuple(to_python(record.record()), comparison_text(record.comparison), order);
}

}  // namespace

void init_data_comparison(nb::module_& module) {
  module.def(
      "compare_on", compare_rows, "x0"_a.none(), "x1"_a.none(), "couplings"_a, "names"_a,
      nb::kw_only(), "seed"_a.none(), "num_categories"_a.none(), "like"_a.none(),
      "progress"_a.none(), "device"_a,
      nb::sig("def compare_on(x0: numpy.typing.ArrayLike, x1: numpy.typing.ArrayLike, couplings: "
              "list[typing.Any], names: list[str], *, seed: int | numpy.random.Generator | None, "
              "num_categories: int | None, like: typing.Any, progress: "
              "collections.abc.Callable[[str, int, int, str], object] | None, device: str) -> "
              "tuple[dict[str, typing.Any], str, list[str]]"),
      "The object that `bridgemark evaluate --x0 --json` prints, its text, and the names of the "
      "scores in their order: what bridgemark.compare_on wraps.");
}

}  // namespace bridgemark::python
