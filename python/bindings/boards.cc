#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/report/board/write_board.h"
#include "bridgemark/submission/check_submission.h"
#include "bridgemark/submission/new_inputs.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

nb::tuple check(const std::filesystem::path& folder,
                const std::optional<std::filesystem::path>& ask,
                const std::optional<std::filesystem::path>& answers, const WholeNumber& seed,
                nb::handle progress) {
  const std::uint64_t asked_seed = seed.in_range("seed", 0, UINT64_MAX);
  const SubmissionCheck found = interruptible(
      [&](const Context& context) {
        SubmissionCheck check = check_submission(context, folder);
        if (!check.refusals.empty()) return check;
        if (answers) {
          check.refusals = judge_new_answers(context, folder, check.solver, asked_seed, *answers);
        }
        if (ask) write_new_inputs(context, check.solver, asked_seed, *ask);
        return check;
      },
      progress);
  nb::list refusals;
  for (const std::string& line : found.refusals) refusals.append(line);
  return nb::make_tuple(result_rows(found.results), refusals);
}

std::vector<std::filesystem::path> board(const std::vector<std::filesystem::path>& results,
                                         const std::filesystem::path& output,
                                         const std::vector<std::filesystem::path>& submissions,
                                         const std::vector<std::string>& leave_out,
                                         nb::handle progress) {
  return interruptible(
      [&](const Context& context) {
        return write_board(context, {results, submissions, leave_out}, output).files;
      },
      progress);
}

}  // namespace

void init_boards(nb::module_& module) {
  module.def(
      "check_submission", check, "folder"_a, nb::kw_only(), "ask"_a.none(), "answers"_a.none(),
      "seed"_a, "progress"_a.none(),
      nb::sig(
          "def check_submission(folder: str | os.PathLike[str], *, ask: str | "
          "os.PathLike[str] | None, answers: str | os.PathLike[str] | None, seed: int, progress: "
          "collections.abc.Callable[[str, int, int, str], object] | None) -> "
          "tuple[list[tuple[str, str, str, int, int, int, str, float | None, float | None]], "
          "list[str]]"),
      "The scores that a submission's answers have, as result_rows gives them, and a line "
      "for each thing that is wrong with it, or with `answers` to the inputs that `ask` wrote.");
  module.def(
      "write_board", board, "results"_a, "output"_a, nb::kw_only(), "submissions"_a, "leave_out"_a,
      "progress"_a.none(),
      nb::sig("def write_board(results: list[str | os.PathLike[str]], output: str | "
              "os.PathLike[str], *, submissions: list[str | os.PathLike[str]], leave_out: "
              "list[str], progress: collections.abc.Callable[[str, int, int, str], object] | "
              "None) -> list[pathlib.Path]"),
      "The board of results folders and submissions: the files written.");
}

}  // namespace bridgemark::python
