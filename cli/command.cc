#include "cli/command.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/process/graph_file.h"
#include "cli/interrupt.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

Context CommonOptions::context() const {
  Context context{parse_device(device), threads, make_progress_printer(progress_style()),
                  stop_requested};
  backend::of(context).require_device();
  return context;
}

void add_seed_option(CLI::App& command, CommonOptions& options, const std::string& help) {
  command.add_option("--seed", options.seed, help)->check(whole_number())->capture_default_str();
}

void add_training_rows_options(CLI::App& command, TrainingRows& rows, const std::string& samples) {
  CLI::Option* given =
      command.add_option("--samples", rows.samples, samples)->check(whole_number());
  CLI::Option* which =
      command.add_option("--training-set", rows.training_set, "Which training set of the pair")
          ->check(whole_number())
          ->capture_default_str()
          ->needs(given);
  only_for(which, "--samples above 0", [&rows]() -> std::optional<std::string> {
    if (rows.samples > 0) return std::nullopt;
    return "--samples 0";
  });
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_option("--threads", options.threads, "CPU threads; 0 takes all of the machine")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  const auto known_device = [](const std::string& name) {
    parse_device(name);
    return std::string();
  };
  command.add_option("--device", options.device, "cpu or cuda")
      ->check(known_device)
      ->capture_default_str();
  CLI::Option* progress = command.add_flag("-v,--progress", options.progress,
                                           "Say on standard error how far the work is where that "
                                           "is no terminal, as it always is on one");
  command
      .add_flag("-q,--quiet", options.quiet,
                "Say nowhere how far the work is, nor which command may come next")
      ->excludes(progress);
}

void say_next(const CommonOptions& options, const std::vector<std::string>& arguments) {
  if (options.json || options.quiet) return;
  say("next: bridgemark {}\n", terminal_text(shell_words(arguments)));
}

void warn_if_still(const ReferenceProcess& process) {
  if (const auto warning = movement_warning(process)) note("warning: {}\n", *warning);
}

namespace {

constexpr std::string_view kLowRankPrefix = "lowrank:", kGraphPrefix = "graph:";

}  // namespace

bool is_npy(const std::string& value) { return value.ends_with(".npy"); }

Matrix<double> load_matrix(const std::string& path) {
  const NpyArray array = load_npy(path);
  if (array.shape.size() != 2) {
    throw_file(path, "expected a two-dimensional array, got {} dimensions", array.shape.size());
  }
  return {array.shape[0], array.shape[1], array.to_doubles()};
}

const char kReferenceHelp[] =
    "gaussian, uniform, birth-death (one up or down), absorbing (to the last category, and nowhere "
    "from there), a .npy matrix [S,S] of step probabilities, lowrank:U.npy,V.npy, both [S,r]: each "
    "step stays with 1 - gamma and else moves by U V^T, or graph:FILE.npz, rates or probabilities "
    "[S,S] as scipy.sparse.save_npz writes a CSR matrix";

bool is_matrix(const std::string& reference) {
  return is_npy(reference) && !reference.starts_with(kLowRankPrefix) &&
         !reference.starts_with(kGraphPrefix);
}

GivenReference read_reference(const std::string& value) {
  if (value.starts_with(kGraphPrefix)) {
    return load_graph(value.substr(kGraphPrefix.size()));
  }
  if (value.starts_with(kLowRankPrefix)) {
    const std::string files = value.substr(kLowRankPrefix.size());
    const std::size_t comma = files.find(',');
    const std::string u = files.substr(0, comma),
                      v = comma == std::string::npos ? "" : files.substr(comma + 1);
    if (!is_npy(u) || !is_npy(v) || v.find(',') != std::string::npos) {
      throw_invalid("reference", "a reference of low rank is lowrank:U.npy,V.npy, got '{}'", value);
    }
    return LowRankFactors{load_matrix(u), load_matrix(v)};
  }
  if (is_npy(value)) return load_matrix(value);
  return value;
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return fmt::format("must be a whole number in 0..{}, got '{}'", UINT64_MAX, text);
  };
  return {check, "", "whole_number"};
}

CLI::Validator number_in(double least, double most) {
  const auto check = [=](const std::string& text) -> std::string {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= least && value <= most) return {};
    return fmt::format("must be a number in {}..{}, got '{}'", least, most, text);
  };
  return {check, "", "number"};
}

std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * seconds));
}

void add_json_option(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "Print one JSON object instead of a table");
}

}  // namespace bridgemark::cli
