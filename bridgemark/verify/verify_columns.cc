#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/bridge/column_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

namespace {

// Metadata `columns`: a list of {"kind", "categories", "gamma"}.
ColumnReference read_columns(const GoldenFile& file) {
  const std::string text = file.text("columns");
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  const auto refuse = [&](const std::string& what) {
    throw_file(file.path, "metadata 'columns' must be a list of {}, got '{}'", what, text);
  };
  if (!json.is_array() || json.empty()) refuse("columns");
  std::vector<ReferenceProcess> columns;
  const int steps = file.integer("total_steps");
  for (const nlohmann::json& column : json) {
    if (!column.is_object() || !column.value("kind", nlohmann::json()).is_string() ||
        !column.value("categories", nlohmann::json()).is_number_integer() ||
        !column.value("gamma", nlohmann::json()).is_number()) {
      refuse("objects with kind, categories and gamma");
    }
    const auto kind = column["kind"].get<std::string>();
    const auto categories = column["categories"].get<std::int64_t>();
    const auto gamma = column["gamma"].get<double>();
    if (categories < 2 || categories > kMaxCategories) refuse("columns of 2..65536 categories");
    if (kind == reference_kind_name(ReferenceKind::kUniform)) {
      columns.push_back(ReferenceProcess::uniform(static_cast<int>(categories), gamma, steps));
    } else if (kind == reference_kind_name(ReferenceKind::kGaussian)) {
      columns.push_back(ReferenceProcess::gaussian(static_cast<int>(categories), gamma, steps));
    } else {
      refuse("columns of kind uniform or gaussian");
    }
  }
  return ColumnReference(std::move(columns));
}

}  // namespace

Verification verify_columns(const Context& context, const GoldenFile& file) {
  constexpr double kTolerance = 1e-10;
  const ColumnReference reference = read_columns(file);
  const SafetensorsFile& tensors = file.tensors;
  const std::size_t D = reference.dim(), rows = reference.total_categories();
  for (const char* name : {"log_beta", "log_v"}) {
    if (tensors.shape(name).size() != 1) throw_file(file.path, "'{}' must have one axis", name);
  }
  const std::size_t K = tensors.shape("log_beta")[0], B = tensors.shape("log_v")[0];
  tensors.expect_shape("log_cores", {rows, K});
  tensors.expect_shape("log_c", {B});
  tensors.expect_shape("log_conditional", {B});
  tensors.expect_shape("log_conditional_marginals", {B, rows});
  tensors.expect_shape("x0", {B, D});
  tensors.expect_shape("x1", {B, D});

  const ColumnBridge bridge(reference, tensors.read_doubles("log_beta"),
                            {rows, K, tensors.read_doubles("log_cores")});
  const States x0(B, D, tensors.read_int32("x0")), x1(B, D, tensors.read_int32("x1"));
  std::vector<double> log_v(B), log_c(B), log_conditional(B);
  bridge.log_potential(context, x1, log_v);
  bridge.log_normalizer(context, x0, log_c);
  bridge.log_conditional(context, x0, x1, log_conditional);
  Matrix<double> marginals(B, rows);
  bridge.write_log_column_marginals(context, x0, marginals);

  const auto check = [&](const char* name, std::span<const double> computed) {
    return TensorCheck{name, max_error(computed, tensors.read_doubles(name)), kTolerance};
  };
  Verification result;
  result.checks = {check("log_v", log_v), check("log_c", log_c),
                   check("log_conditional", log_conditional),
                   check("log_conditional_marginals", {marginals.data(), marginals.size()})};
  return result;
}

}  // namespace bridgemark
