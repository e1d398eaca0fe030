#include "bridgemark/solver/core/options.h"

#include "bridgemark/solver/registry.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_pair.h"

// key=value of --set, one a line: the options of each solver.
void bridgemark::fuzz::read(std::string_view bytes) {
  for (const auto& solver : all_solvers()) {
    attempt([&] {
      SolverOptions options(solver->options());
      for (std::string_view rest = bytes; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        options.set_assignment(rest.substr(0, end));
        rest.remove_prefix(std::min(rest.size(), end + 1));
      }
      solver->resolve(options);
      solver->check({}, tiny_pair(), options);
    });
  }
}
