#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/verify/verification.h"

// One function for each kind of reference file; verification.cc picks among them.
namespace bridgemark {

// A file of reference values with its path for messages.
struct GoldenFile {
  std::string path;
  SafetensorsFile tensors;

  // A metadata entry as a number; throws FileError where it is missing or no such number.
  int integer(std::string_view key) const;
  double number(std::string_view key) const;
  std::string text(std::string_view key) const;

  // The reference process and chain that `kind`, `num_categories`, `gamma`, `num_intermediate` and
  // `skip` describe.
  ReferenceChain chain() const;

  // A tensor [rows, dim] of states, checked.
  States states(const char* name, std::size_t rows, std::size_t dim, int num_categories) const;
};

// The largest |a - b|; 0 where both are the same infinity, +inf where only one is or sizes differ.
double max_error(std::span<const double> computed, std::span<const double> expected);

// Adds a check of a loss, gradient or value computed in T: absolute (1e-9) in float64, relative to
// the tensor's largest finite entry (1e-4) in float32.
template <typename T>
void add_training_check(const GoldenFile& file, const std::string& name,
                        std::span<const double> computed, Verification& result);
template <typename T>
void add_training_check(const GoldenFile& file, const std::string& name,
                        std::span<const float> computed, Verification& result) {
  add_training_check<T>(file, name, std::vector<double>(computed.begin(), computed.end()), result);
}

Verification verify_reference(const Context& context, const GoldenFile& file);
Verification verify_bridge(const Context& context, const GoldenFile& file);
Verification verify_dlightsb(const Context& context, const GoldenFile& file);
Verification verify_dlightsbm(const Context& context, const GoldenFile& file);
Verification verify_csbm(const Context& context, const GoldenFile& file);
Verification verify_metrics(const Context& context, const GoldenFile& file);
Verification verify_columns(const Context& context, const GoldenFile& file);
Verification verify_low_rank(const Context& context, const GoldenFile& file);
Verification verify_sinkhorn(const Context& context, const GoldenFile& file);
Verification verify_tree(const Context& context, const GoldenFile& file);

}  // namespace bridgemark
