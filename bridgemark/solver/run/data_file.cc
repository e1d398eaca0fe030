#include "bridgemark/solver/run/data_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/process/reference_tensors.h"
#include "bridgemark/process/same_process.h"

namespace bridgemark {

namespace {

Matrix<double> step_matrix(const ReferenceProcess& process) {
  Matrix<double> matrix = process.log_power_once({}, 1);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = std::exp(matrix.data()[i]);
  return matrix;
}

template <typename T>
T read_number(const SafetensorsFile& file, const std::string& path, const char* key) {
  const auto found = file.metadata().find(key);
  const std::string text = found == file.metadata().end() ? "" : found->second;
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_file(path, "metadata '{}' must be a number, got '{}'", key, text);
  }
  return value;
}

States read_states(const SafetensorsFile& file, const std::string& path, const char* name) {
  const std::vector<std::size_t>& shape = file.shape(name);
  if (shape.size() != 2) throw_file(path, "tensor '{}' must have two axes", name);
  return {shape[0], shape[1], file.read_int32(name)};
}

ReferenceProcess read_reference(const SafetensorsFile& file, const std::string& path) {
  const auto found = file.metadata().find("reference");
  ReferenceNumbers numbers{found == file.metadata().end() ? "" : found->second,
                           read_number<int>(file, path, "num_categories"),
                           std::numeric_limits<double>::quiet_NaN(),
                           read_number<int>(file, path, "total_steps")};
  if (numbers.kind != reference_kind_name(ReferenceKind::kMatrix)) {
    numbers.gamma = read_number<double>(file, path, "gamma");
  }
  return read_reference(numbers, file, path, "metadata 'reference'");
}

}  // namespace

void save_data(const FitProblem& problem, const std::filesystem::path& path) {
  const DataEnds& ends = *problem.data();
  const ReferenceProcess& process = ends.reference;
  const auto S = static_cast<std::size_t>(process.num_categories());
  SafetensorsWriter writer;
  writer.set_metadata("kind", "data");
  writer.set_metadata("reference", std::string(reference_kind_name(process.kind())));
  writer.set_metadata("num_categories", std::to_string(S));
  writer.set_metadata("total_steps", std::to_string(process.total_steps()));
  Matrix<double> matrix;
  if (process.kind() == ReferenceKind::kMatrix) {
    // Not what was given: a process seen backwards was not given.
    matrix = step_matrix(process);
    writer.add("reference_matrix", {S, S}, std::span<const double>(matrix.data(), matrix.size()));
  } else {
    add_reference_tensors(writer, process);
    writer.set_metadata("gamma", fmt::format("{}", process.gamma()));  // shortest that reads back
  }
  const auto add = [&](const char* name, const States& states) {
    writer.add(name, {states.rows(), states.cols()},
               std::span<const std::int32_t>(states.data(), states.size()));
  };
  add("x0", ends.x0.states());
  add("x1", ends.x1.states());
  writer.write(path);
}

FitProblem load_data(const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  const std::string name = path.string();
  try {
    return {read_states(file, name, "x0"), read_states(file, name, "x1"),
            read_reference(file, name)};
  } catch (const InvalidArgument& error) {
    throw_file(name, "{}", error.what());
  }
}

bool same_data(const FitProblem& a, const FitProblem& b) {
  const DataEnds &left = *a.data(), &right = *b.data();
  return left.x0.states() == right.x0.states() && left.x1.states() == right.x1.states() &&
         same_process(left.reference, right.reference);
}

}  // namespace bridgemark
