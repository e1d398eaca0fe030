#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/process/given_reference.h"
#include "bridgemark/process/reference_process.h"
#include "cli/progress.h"

// Each subcommand lives in a file of its own and offers one function that adds it to the program.
// A command reads its options, calls the library and prints; it computes nothing.
namespace bridgemark::cli {

// Exit statuses beside 0 and that of a check that failed, 1.
inline constexpr int kBadInput = 2;
inline constexpr int kInterrupted = 130;

// Options every command takes.
struct CommonOptions {
  std::uint64_t seed = 0;
  int threads = 0;
  std::string device = "cpu";
  bool json = false;
  bool progress = false;
  bool quiet = false;

  ProgressStyle progress_style() const { return cli::progress_style(progress, quiet); }

  // Throws where the device is not available in this build or on this machine.
  Context context() const;
};

// Says which command is likely to come next, in words of a shell; nothing with --json or --quiet.
void say_next(const CommonOptions& options, const std::vector<std::string>& arguments);

// Adds --threads, --device, --progress and --quiet.
void add_common_options(CLI::App& command, CommonOptions& options);
// Adds --seed, to a command that draws; `help` says what it decides.
void add_seed_option(CLI::App& command, CommonOptions& options, const std::string& help);
void add_json_option(CLI::App& command, CommonOptions& options);

// Adds --samples and --training-set, what a solver is or was trained on.
void add_training_rows_options(CLI::App& command, TrainingRows& rows, const std::string& samples);

// One line on standard error where the reference of a pair hardly moves.
void warn_if_still(const ReferenceProcess& process);

// --reference: a name, the matrix of a .npy file, lowrank:U.npy,V.npy or graph:FILE.npz; what help
// says of it, and whether it is a matrix.
GivenReference read_reference(const std::string& value);
extern const char kReferenceHelp[];
bool is_matrix(const std::string& reference);
bool is_npy(const std::string& value);
Matrix<double> load_matrix(const std::string& path);

// Refuses -1 and numbers beyond 64 bits, which CLI11 would wrap round or cut off.
CLI::Validator whole_number();

// Refuses NaN as well, which CLI::Range lets through.
CLI::Validator number_in(double least, double most);

// The file of this program, for those that start it again.
std::filesystem::path this_program();

std::chrono::milliseconds milliseconds(double seconds);

// What the chosen command does; returns the exit status.
using Action = std::function<int()>;

void add_list(CLI::App& app, Action& action);
void add_build(CLI::App& app, Action& action);
void add_sample(CLI::App& app, Action& action);
void add_distill(CLI::App& app, Action& action);
void add_kit(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_gamma(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_run_cell(CLI::App& app, Action& action);
void add_run_part(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_check_submission(CLI::App& app, Action& action);
void add_challenge(CLI::App& app, Action& action);
void add_board(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_completions(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);

}  // namespace bridgemark::cli
