#include "bridgemark/submission/check_submission.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridgemark/report/board/board.h"
#include "bridgemark/submission/submission_layout.h"
#include "tests/fuzz/fuzz.h"

// A submission: solver.toml, the scores that it claims in two files, and one file of its answers,
// where solver.toml says it is. The same claims on a board, as if they were results.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::vector<std::string_view> files = split(bytes, 4);
  put(kSolverFile, files[0]);
  put(kResultsJsonl, files[1]);
  if (files[2].empty()) {
    std::filesystem::remove(folder() / kResultsCsv);
  } else {
    put(kResultsCsv, files[2]);
  }
  const Context context{.num_threads = 1};
  std::vector<std::filesystem::path> made;
  attempt([&] {
    const SolverFile solver = load_solver_file(folder(), Blanks::kAllowed);
    // Without the second file of answers nothing is scored, which takes longer than reading.
    for (const SubmittedAnswers& answers : solver.predictions) {
      made.push_back(folder() / answers_folder(answers));
      std::filesystem::create_directories(made.back());
      put(answers_folder(answers) + "/pred_x1.npy", files[3]);
    }
  });
  attempt([&] {
    for (const std::string& line : check_submission(context, folder()).refusals) {
      if (line.find('\n') != line.npos) throw std::logic_error("a refusal of two lines: " + line);
    }
  });
  for (const std::filesystem::path& answers : made) std::filesystem::remove_all(answers);
  const Board board = load_board(context, {.results = {folder()}, .submissions = {}});
  board_csv(board);
  board_html(board);
}
