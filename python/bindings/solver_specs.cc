#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <variant>
#include <vector>

#include "bridgemark/solver/registry.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

// The type of an option's value as a keyword, in the words of a stub.
struct KeywordType {
  std::string operator()(const IntegerRange&) const { return "int"; }
  std::string operator()(const RealRange&) const { return "float"; }
  std::string operator()(const Choices& choices) const {
    return fmt::format("Literal[\"{}\"]", fmt::join(choices.names, "\", \""));
  }
  std::string operator()(const IntegerList&) const {
    return "int | str | list[int] | tuple[int, ...]";
  }
  std::string operator()(const FilePath&) const { return "str | os.PathLike[str]"; }
};

std::string keyword_type(const OptionSpec& spec) {
  const std::string type = std::visit(KeywordType{}, spec.kind);
  return spec.or_auto ? fmt::format("{} | Literal[\"{}\"]", type, kAuto) : type;
}

nb::list solver_specs() {
  nb::list specs;
  for (const auto& solver : all_solvers()) {
    nb::list options;
    for (const OptionSpec& spec : solver->options()) {
      nb::dict option;
      option["key"] = spec.key;
      option["default"] = spec.initial_value();
      option["help"] = spec.described();
      option["type"] = keyword_type(spec);
      options.append(option);
    }
    specs.append(nb::make_tuple(solver->name(), solver->description(), options));
  }
  return specs;
}

std::vector<std::string> solvers() {
  std::vector<std::string> names;
  for (const auto& solver : all_solvers()) names.push_back(solver->name());
  return names;
}

}  // namespace

void init_solver_specs(nb::module_& module) {
  module.def(
      "solver_specs", solver_specs,
      nb::sig("def solver_specs() -> list[tuple[str, str, list[dict[str, str]]]]"),
      "(name, description, options) of each solver; of an option its key, default, help and\n"
      "type, the default empty where a recipe decides.");
  module.def("solvers", solvers, "Names of the solvers, as make_solver takes them.");
}

}  // namespace bridgemark::python
