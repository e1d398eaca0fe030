#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "cli/command.h"
#include "cli/interrupt.h"

namespace {

constexpr int kBadInput = 2;
constexpr int kInterrupted = 130;

// Messages are one line whatever they quote.
int fail(std::string message) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  fmt::print(stderr, "bridgemark: {}\n", message);
  return kBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bridgemark::cli;
  CLI::App app{
      "The benchmark for Schrödinger bridges and entropic optimal transport on discrete "
      "spaces.",
      "bridgemark"};
  app.set_version_flag("--version", std::string("bridgemark ") + bridgemark::kVersion);
  app.require_subcommand(0, 1);  // none is refused below: CLI11 would not name an unknown one
  app.footer("Try: bridgemark COMMAND --help");
  Action action;
  add_list(app, action);
  add_build(app, action);
  add_sample(app, action);
  add_kit(app, action);
  add_train(app, action);
  add_evaluate(app, action);
  add_run(app, action);
  add_run_cell(app, action);
  add_report(app, action);
  add_verify(app, action);

  try {
    app.parse(argc, argv);
    clean_up_on_signals();
    if (!action) return fail("a command is required; see bridgemark --help");
    return action();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return fail(fmt::format("{}; see bridgemark --help", error.what()));
  } catch (const bridgemark::Interrupted& error) {
    fail(error.what());
    return kInterrupted;
  } catch (const std::bad_alloc&) {
    return fail("out of memory; lower -n, the number of categories or the dimension");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
