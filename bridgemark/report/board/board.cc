#include "bridgemark/report/board/board.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/look_alikes.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/toml_reader.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/submission/check_submission.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

namespace {

constexpr char kProvenanceFile[] = "provenance.toml";
constexpr std::size_t kMaxProvenanceBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxRevision = 100;

// The last part of a path, whatever it ends in.
std::string folder_name(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(folder, error);
  return (error ? folder : whole).filename().string();
}

// What a results folder says of all of its runs: provenance.toml, where it has one.
//   revision = "a7ef1d1"   # of Bridgemark
//   date = 2026-11-16
void read_provenance(const std::filesystem::path& folder, BoardSource& source) {
  const std::filesystem::path path = folder / kProvenanceFile;
  if (!path_exists(path)) return;
  const TomlReader toml(path.string(), read_file(path, kMaxProvenanceBytes));
  toml.expect_keys(toml.root(), "the file", {"revision", "date"});
  const auto [revision, line] = toml.required_text(toml.root(), "revision", "the file");
  if (!is_one_line(revision, kMaxRevision)) {
    toml.fail(line, "'revision' must be 1 to {} bytes of one line, got '{}'", kMaxRevision,
              printable(revision));
  }
  source.revision = revision;
  source.date = toml.required_date(toml.root(), "date", "the file");
}

// A row of a table on a pair, of one number of training rows.
using CellKey =
    std::tuple<std::string, std::string, std::string, std::string, std::string, std::size_t>;

CellKey cell_of(const RunResult& result) {
  return {result.pair, result.solver,    result.method,
          result.loss, result.num_steps, result.rows.samples};
}

class Gathering {
 public:
  Gathering(const Context& context, const BoardRequest& request)
      : context_(context), request_(request) {}

  Board gather() {
    for (const std::filesystem::path& folder : request_.results) add_results(folder);
    std::vector<std::filesystem::path> submissions;
    for (const std::filesystem::path& folder : request_.submissions) {
      for (std::filesystem::path& found : find_submissions(folder)) {
        submissions.push_back(std::move(found));
      }
    }
    for (const std::filesystem::path& folder : submissions) add_submission(folder);
    refuse_idle_patterns();
    if (board_.results.empty()) {
      throw_invalid("board", "there must be results on presets, got {} runs, all left out",
                    board_.left_out);
    }
    board_.tables = headline_tables();
    return std::move(board_);
  }

 private:
  bool is_left_out(const RunResult& result) const {
    return !why_no_board_pair(result.pair).empty() ||
           std::ranges::any_of(request_.leave_out, [&](const std::string& pattern) {
             return matches(pattern, result);
           });
  }

  static bool matches(const std::string& pattern, const RunResult& result) {
    return fnmatch(pattern.c_str(), result.method.c_str(), 0) == 0;
  }

  // A pattern that leaves nothing out is a mistake in its letters.
  void refuse_idle_patterns() const {
    for (const std::string& pattern : request_.leave_out) {
      if (!matched_.contains(pattern)) {
        throw_invalid("board", "leave_out must match a method of the results, got '{}'",
                      printable(pattern));
      }
    }
  }

  void add_results(const std::filesystem::path& folder) {
    BoardSource source;
    source.name = folder_name(folder);
    read_provenance(folder, source);
    const std::filesystem::path file = folder / kResultsJsonl;
    add(std::move(source), load_results(file), file);
  }

  void add_submission(const std::filesystem::path& folder) {
    SubmissionCheck check = require_submission(context_, folder);
    const std::filesystem::path file = folder / kSolverFile;
    const std::string name = check.solver.name, look = look_of(name);
    if (std::ranges::any_of(board_.results, [&](const RunResult& other) {
          return look_of(other.method) == look;
        })) {
      throw_file(file.string(), "'name' must look like that of no other row of the board, got '{}'",
                 printable(name));
    }
    BoardSource source;
    source.name = folder_name(folder);
    source.revision = check.solver.revision;
    source.date = check.solver.date;
    source.solver = std::move(check.solver);
    add(std::move(source), std::move(check.results), file);
  }

  // The cells that no source before has.
  void add(BoardSource source, std::vector<RunResult> results, const std::filesystem::path& file) {
    source.record = source.name + "/" + kResultsJsonl;
    for (const std::string& pattern : request_.leave_out) {
      const auto fits = [&](const RunResult& result) { return matches(pattern, result); };
      if (std::ranges::any_of(results, fits)) matched_.insert(pattern);
    }
    std::set<CellKey> own;
    for (RunResult& result : results) {
      if (is_left_out(result) || taken_.contains(cell_of(result))) {
        ++board_.left_out;
        continue;
      }
      refuse_stale(result, file);
      if (!runs_.insert(result.run).second) {
        throw_file(file.string(), "run '{}' is on the board already, from another row",
                   printable(result.run));
      }
      own.insert(cell_of(result));
      board_.results.push_back(std::move(result));
      board_.source_of.push_back(board_.sources.size());
    }
    taken_.merge(own);
    board_.sources.push_back(std::move(source));
  }

  void refuse_stale(const RunResult& result, const std::filesystem::path& file) {
    auto found = pairs_.find(result.pair);
    if (found == pairs_.end()) {
      const BenchmarkPair pair = load_pair(result.pair);
      found = pairs_.emplace(result.pair, scored_pair_record(context_, pair)).first;
    }
    if (!same_scored_pair(found->second, result.pair_identity)) {
      throw_file(file.string(), "stale: run '{}' is of {}, which is {} in this version",
                 printable(result.run), pair_text(result.pair_identity), pair_text(found->second));
    }
  }

  std::vector<Table> headline_tables() const {
    std::vector<Table> all = make_tables(board_.results, false), kept;
    for (const bool reversed : {false, true}) {
      for (const ScoreSpec* score : scores_by(&ScoreSpec::headline_place)) {
        for (Table& table : all) {
          const bool wanted = table.score == score && table.reversed_pairs == reversed;
          if (wanted) kept.push_back(std::move(table));
        }
      }
    }
    return kept;
  }

  const Context& context_;
  const BoardRequest& request_;
  std::set<std::string> matched_;  // patterns of leave_out that matched
  Board board_;
  std::set<CellKey> taken_;
  std::set<std::string> runs_;
  std::map<std::string, nlohmann::json> pairs_;  // this version's own records
};

}  // namespace

Board load_board(const Context& context, const BoardRequest& request) {
  return Gathering(context, request).gather();
}

}  // namespace bridgemark
