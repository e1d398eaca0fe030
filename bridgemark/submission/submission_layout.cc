#include "bridgemark/submission/submission_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

namespace {

std::vector<std::string> board_pairs() {
  std::vector<std::string> names;
  for (const char* suffix : {"", "-reverse"}) {
    for (const PairSpec& spec : preset_specs()) names.push_back(spec.name + suffix);
  }
  return names;
}

// The entries of a folder that are not among the known files and folders.
void add_unknown(const std::filesystem::path& folder, const std::set<std::string>& files,
                 const std::set<std::string>& folders, std::vector<std::string>& lines) {
  using std::filesystem::file_type;
  for (const std::filesystem::path& path : list_folder(folder)) {
    const std::string name = path.filename().string();
    const bool named = files.contains(name) || folders.contains(name);
    std::error_code ignored;
    const file_type type = std::filesystem::symlink_status(path, ignored).type(),
                    wanted = folders.contains(name) ? file_type::directory : file_type::regular;
    if (named && type == wanted) continue;
    const char* what = type == file_type::symlink     ? "has a link"
                       : !named                       ? "holds"
                       : type == file_type::directory ? "has a folder"
                                                      : "has no folder or plain file";
    lines.push_back(message_text(fmt::format("{}: {} '{}', which solver.toml does not name",
                                             folder.string(), what, printable(name))));
  }
}

}  // namespace

std::string answers_folder(const SubmittedAnswers& answers) {
  return fmt::format("{}{}.seed{}", answers.pair, training_rows_suffix(answers.rows),
                     answers.training_seed);
}

const std::vector<std::string>& answer_files() {
  static const std::vector<std::string> names = {kAnswersFile, kConditionalAnswersFile,
                                                 kLogMarginalsFile, kLogConditionalFile,
                                                 kLogAnswersFile};
  return names;
}

const std::vector<std::string>& required_answer_files() {
  static const std::vector<std::string> names = {kAnswersFile, kConditionalAnswersFile};
  return names;
}

std::string why_no_answer_file(const BenchmarkPair& pair, const std::filesystem::path& path) {
  constexpr std::uint64_t kHeader = 1 << 16, kNumber = sizeof(double);
  const std::uint64_t rows = kTestSetSize,
                      inputs = (rows + kConditionalStride - 1) / kConditionalStride,
                      each = std::max<std::uint64_t>(kConditionalSamples, pair.num_categories()),
                      most = kHeader + kNumber * pair.dim() * std::max(rows, inputs * each);
  const auto refusal = [&](const std::string& why) {
    return message_text(fmt::format("{}: {}", path.string(), why));
  };
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return refusal("expected a file");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error || size <= most) return {};
  return refusal(fmt::format("expected at most {} bytes, as answers to {} have, found {}", most,
                             pair.identity().name, size));
}

std::string why_no_board_pair(const std::string& pair) {
  static const std::vector<std::string> names = board_pairs();
  if (std::ranges::find(names, pair) != names.end()) return {};
  return fmt::format("'pair' must be a preset, or one with -reverse, got '{}'{}", printable(pair),
                     nearest_hint(pair, names));
}

std::string why_no_submitted_pair(const std::string& pair) {
  return why_no_board_pair(instance_of(pair).pair);
}

std::vector<std::string> unknown_entries(const std::filesystem::path& folder,
                                         const SolverFile& solver) {
  std::set<std::string> folders;
  for (const SubmittedAnswers& answers : solver.predictions) {
    folders.insert(answers_folder(answers));
  }
  std::vector<std::string> lines;
  add_unknown(folder, {kSolverFile, kResultsJsonl, kResultsCsv, "README.md", "LICENSE"}, folders,
              lines);
  for (const SubmittedAnswers& answers : solver.predictions) {
    std::set<std::string> files;
    for (const auto& [name, hash] : answers.sha256) files.insert(name);
    const std::filesystem::path path = folder / answers_folder(answers);
    if (is_folder(path)) add_unknown(path, files, {}, lines);
  }
  return lines;
}

}  // namespace bridgemark
