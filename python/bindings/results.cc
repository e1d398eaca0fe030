#include "python/bindings/results.h"

#include <nanobind/stl/string.h>

#include <cmath>
#include <string>

namespace nb = nanobind;

namespace bridgemark::python {

nb::object to_python(const nlohmann::json& json) {
  using Kind = nlohmann::json::value_t;
  switch (json.type()) {
    case Kind::object: {
      nb::dict dict;
      for (const auto& [key, value] : json.items()) dict[key.c_str()] = to_python(value);
      return dict;
    }
    case Kind::array: {
      nb::list list;
      for (const nlohmann::json& value : json) list.append(to_python(value));
      return list;
    }
    case Kind::string:
      return nb::str(json.get_ref<const std::string&>().c_str());
    case Kind::boolean:
      return nb::bool_(json.get<bool>());
    case Kind::number_integer:
      return nb::int_(json.get<std::int64_t>());
    case Kind::number_unsigned:
      return nb::int_(json.get<std::uint64_t>());
    case Kind::number_float:
      return nb::float_(json.get<double>());
    default:
      return nb::none();
  }
}

nb::list result_rows(const std::vector<RunResult>& results) {
  const auto number = [](double value) {
    return std::isnan(value) ? nb::object(nb::none()) : nb::object(nb::float_(value));
  };
  nb::list rows;
  for (const RunResult& result : results) {
    for (const Score& score : result.scores) {
      rows.append(nb::make_tuple(result.run, result.method, result.pair, result.seed,
                                 result.rows.samples, result.rows.training_set, score.name,
                                 number(score.mean), number(score.standard_error)));
    }
  }
  return rows;
}

}  // namespace bridgemark::python
