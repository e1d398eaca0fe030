#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/solver/outside/python_solvers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/help/help.h"
#include "cli/help/usage_error.h"
#include "cli/interrupt.h"
#include "cli/option_use.h"
#include "cli/output.h"
#include "cli/ranks.h"

namespace {

using namespace bridgemark::cli;

constexpr char kOutOfMemory[] =
    "out of memory; lower -n, the number of categories or the dimension";

// Messages are one line whatever they quote, and not a longer one than anybody reads.
int fail(std::string message) {
  let_first_rank_speak();
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  note("bridgemark: {}\n", bridgemark::terminal_text(message, 1000));
  return kBadInput;
}

// Commands that make one thing from all they are given: two of them would do the same. A training
// is shared by its ranks, and a grid's workers have claims and locks.
void refuse_ranks(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    const std::string name = command->get_name();
    if (name != "train" && name != "list" && !name.starts_with("run")) require_no_ranks(name);
  }
}

int run_program(int argc, char** argv) {
  CLI::App app{
      "The benchmark for Schrödinger bridges and entropic optimal transport on discrete "
      "spaces.",
      "bridgemark"};
  app.formatter(std::make_shared<HelpFormatter>());  // of the commands as well
  app.set_version_flag("-V,--version", std::string("bridgemark ") + bridgemark::kVersion);
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n"
      "  bridgemark train --help\n"
      "  bridgemark train dlightsb --pair d2-gaussian-0.02-spread -o run --set updates=500\n"
      "  bridgemark evaluate d2-gaussian-0.02-spread --run run");
  bridgemark::set_outside_solvers(bridgemark::solvers_of_python());
  Action action;
  add_list(app, action);
  add_build(app, action);
  add_sample(app, action);
  add_kit(app, action);
  add_train(app, action);
  add_distill(app, action);
  add_evaluate(app, action);
  add_gamma(app, action);
  add_run(app, action);
  add_run_cell(app, action);
  add_run_part(app, action);
  add_report(app, action);
  add_check_submission(app, action);
  add_challenge(app, action);
  add_board(app, action);
  add_verify(app, action);
  add_doctor(app, action);
  add_completions(app, action);
  add_manual(app, action);

  try {
    try {
      std::vector<std::string> arguments =
          with_each_setting_named({argv + std::min(argc, 1), argv + argc});
      std::ranges::reverse(arguments);  // as CLI11 takes a list
      app.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) return fail(usage_message(app, error));
      return finish_output(app.exit(error));  // --help and --version
    }
    clean_up_on_signals();
    if (!action) {
      say("{}", app.help());
      return finish_output(0);
    }
    for (const CLI::App* command : app.get_subcommands()) refuse_unused_options(*command);
    refuse_ranks(app);
    return finish_output(action());
  } catch (const bridgemark::Interrupted& error) {
    if (speaks_for_ranks()) fail(error.what());
    return kInterrupted;
  } catch (const std::bad_alloc&) {
    return fail(kOutOfMemory);
  } catch (const std::length_error&) {  // more than an array can ever hold
    return fail(kOutOfMemory);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_files();
  fail_writes_beyond_limit();
  return leave_ranks(run_program(argc, argv));
}
