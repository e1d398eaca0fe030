#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/clock.h"
#include "bridgemark/report/gamma_figure.h"
#include "bridgemark/solver/gamma/gamma_scan.h"
#include "bridgemark/solver/gamma/gamma_scan_text.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

nb::tuple scan(const ArrayLike& x0, const ArrayLike& x1, const std::string& reference,
               const std::vector<double>& gammas, const std::optional<WholeNumber>& num_categories,
               const WholeNumber& total_steps, const std::string& solver,
               const std::vector<std::string>& settings, double holdout, const Seed& seed,
               nb::handle progress, const std::string& device) {
  DataParts parts{.x0 = states_of_any_space("x0", x0),
                  .x1 = states_of_any_space("x1", x1),
                  .reference = reference};
  if (num_categories) parts.num_categories = num_categories->to_int("num_categories");
  parts.total_steps = total_steps.to_int("total_steps");
  const GammaScanOptions options{.gammas = gammas,
                                 .solver = solver,
                                 .settings = settings,
                                 .holdout = holdout,
                                 .seed = seed.draw()};
  nlohmann::json record;
  const GammaScan found = interruptible(
      [&](const Context& context) {
        const Clock::time_point started = Clock::now();
        GammaScan scanned = scan_gamma(context, std::move(parts), options);
        record = gamma_scan_record(context, scanned, seconds_since(started));
        return scanned;
      },
      progress, parse_device(device));
  return nb::make_tuple(to_python(record), gamma_scan_text(found), gamma_figure(found));
}

}  // namespace

void init_gamma_scans(nb::module_& module) {
  module.def(
      "scan_gamma", scan, "x0"_a.none(), "x1"_a.none(), nb::kw_only(), "reference"_a, "gammas"_a,
      "num_categories"_a.none(), "total_steps"_a, "solver"_a, "settings"_a, "holdout"_a,
      "seed"_a.none(), "progress"_a.none(), "device"_a,
      nb::sig("def scan_gamma(x0: numpy.typing.ArrayLike, x1: numpy.typing.ArrayLike, *, "
              "reference: str, gammas: list[float], num_categories: int | None, total_steps: int, "
              "solver: str, settings: list[str], holdout: float, seed: int | "
              "numpy.random.Generator | None, progress: collections.abc.Callable[[str, int, int, "
              "str], object] | None, device: str) -> tuple[dict[str, typing.Any], str, str]"),
      "The object that `bridgemark gamma --json` prints, its text and its drawing: what "
      "bridgemark.scan_gamma wraps.");
}

}  // namespace bridgemark::python
