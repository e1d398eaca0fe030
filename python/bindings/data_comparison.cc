#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/metric/own_data/comparison_json.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "bridgemark/report/data_page.h"
#include "bridgemark/solver/run/compare_runs.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/device_arrays.h"
#include "python/bindings/label_dict.h"
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

// That of the first fitted coupling.
std::optional<int> categories_of_fitted(const nb::list& couplings) {
  for (const nb::handle coupling : couplings) {
    if (nb::isinstance<nb::dict>(coupling)) {
      return read_label_dict(nb::cast<nb::dict>(coupling))[0]
          .fit->fitted.coupling->num_categories();
    }
    if (nb::isinstance<FittedCoupling>(coupling)) {
      return nb::cast<const FittedCoupling&>(coupling).fitted.coupling->num_categories();
    }
  }
  return std::nullopt;
}

// S: that of a fitted coupling, else given, else one more than the largest category.
int categories_of(const nb::list& couplings, const std::optional<WholeNumber>& given,
                  const States& x0, const States& x1) {
  std::optional<int> asked;
  if (given) asked = static_cast<int>(given->in_range("num_categories", 2, kMaxCategories));
  const std::optional<int> fitted = categories_of_fitted(couplings);
  if (fitted && asked && *fitted != *asked) {
    throw_invalid("compare_on", "num_categories must be that of the fitted solvers, {}, got {}",
                  *fitted, *asked);
  }
  if (fitted) return *fitted;
  return asked ? *asked : largest_category(x0, x1) + 1;
}

std::vector<ComparedRun> read_couplings(const nb::list& couplings,
                                        const std::vector<std::string>& names, nb::handle like,
                                        std::size_t dim, int num_categories) {
  std::vector<ComparedRun> read;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const nb::handle given = couplings[i];
    read.push_back({names[i]});
    if (nb::isinstance<nb::dict>(given)) {
      read.back().labels = runs_of(read_label_dict(nb::cast<nb::dict>(given)));
      continue;
    }
    if (nb::isinstance<FittedCoupling>(given)) {
      read.back().run = run_of(nb::cast<const FittedCoupling&>(given));
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

std::optional<Condition> read_condition(nb::handle condition) {
  if (condition.is_none()) return std::nullopt;
  const auto ends = nb::cast<nb::tuple>(condition);
  return Condition{labels_argument("condition[0]", ArrayLike{nb::borrow(ends[0])}),
                   labels_argument("condition[1]", ArrayLike{nb::borrow(ends[1])})};
}

nb::tuple compare_rows(const ArrayLike& x0, const ArrayLike& x1, const nb::list& couplings,
                       const std::vector<std::string>& names, nb::handle condition,
                       const Seed& seed, const std::optional<WholeNumber>& num_categories,
                       nb::handle like, nb::handle progress, const std::string& device_text,
                       const std::optional<std::filesystem::path>& report,
                       const std::vector<std::string>& vocabulary) {
  const States from = states_of_any_space("x0", x0), to = states_of_any_space("x1", x1);
  const int S = categories_of(couplings, num_categories, from, to);
  const std::vector<ComparedRun> given = read_couplings(couplings, names, like, from.cols(), S);
  const Device device = is_on_gpu({nb::borrow(like)}) ? Device::kCuda : parse_device(device_text);
  const DataComparisonOptions options{seed.draw()};
  const std::optional<Condition> labels = read_condition(condition);
  DataPageOptions page{vocabulary};
  if (labels) std::tie(page.labels0, page.labels1) = std::tie(labels->x0, labels->x1);
  check_vocabulary(page, S);
  if (report) check_page_file(*report);
  const DataComparisonRecord record = interruptible(
      [&](const Context& context) {
        return record_comparison(
            context, [&] { return compare_runs(context, given, from, to, labels, options); });
      },
      progress, device);
  if (report) write_file_atomically(*report, data_page(record.comparison, from, to, page));
  nb::list order;
  for (const DataScoreSpec& spec : data_score_specs()) order.append(std::string(spec.name));
  nb::dict texts;
  for (const LabelComparison& each : record.comparison.labels) {
    texts[nb::int_(each.label)] = comparison_text(each.comparison);
  }
  return nb::make_tuple(to_python(record.record()), comparison_text(record.comparison), order,
                        texts);
}

}  // namespace

void init_data_comparison(nb::module_& module) {
  module.def(
      "compare_on", compare_rows, "x0"_a.none(), "x1"_a.none(), "couplings"_a, "names"_a,
      nb::kw_only(), "condition"_a.none(), "seed"_a.none(), "num_categories"_a.none(),
      "like"_a.none(), "progress"_a.none(), "device"_a, "report"_a.none(), "vocabulary"_a,
      nb::sig(
          "def compare_on(x0: numpy.typing.ArrayLike, x1: numpy.typing.ArrayLike, couplings: "
          "list[typing.Any], names: list[str], *, condition: tuple[typing.Any, typing.Any] | "
          "None, seed: int | numpy.random.Generator | None, "
          "num_categories: int | None, like: typing.Any, progress: "
          "collections.abc.Callable[[str, int, int, str], object] | None, device: str, report: str "
          "| os.PathLike[str] | None, vocabulary: list[str]) -> "
          "tuple[dict[str, typing.Any], str, list[str], dict[int, str]]"),
      "The object that `bridgemark evaluate --x0 --json` prints, its text, the names of the scores "
      "in their order and the text of each label: what bridgemark.compare_on wraps.");
}

}  // namespace bridgemark::python
