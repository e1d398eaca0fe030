#include "bridgemark/submission/solver_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/look_alikes.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/toml_reader.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

namespace {

constexpr int kFormat = 1;
constexpr std::size_t kMaxAuthors = 100;
constexpr std::size_t kMaxPredictions = 1000;
constexpr double kMaxSeconds = 1e9;  // three decades

// Bytes of a text; all of them are one line.
constexpr std::size_t kMaxAuthor = 200, kMaxUrl = 300, kMaxRevision = 100, kMaxObject = 200,
                      kMaxDescription = 600, kMaxCommand = 2000, kMaxHardware = 200;

constexpr char kPredictions[] = "[[predictions]]";

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "package.module:Name".
bool is_object(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == text.npos || colon + 1 == text.size()) return false;
  return std::ranges::all_of(text.substr(0, colon),
                             [](char c) { return is_word_character(c) || c == '.'; }) &&
         std::ranges::all_of(text.substr(colon + 1), is_word_character);
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, Blanks blanks)
      : toml_(path.string(), read_file(path, kMaxSolverFileBytes)), blanks_(blanks) {}

  // Parts that are wrong go to `faults`, a line each, or where there are none are thrown.
  SolverFile read(std::vector<std::string>* faults) {
    const auto part = [&](auto&& read_part) {
      try {
        read_part();
      } catch (const FileError& error) {
        if (!faults) throw;
        faults->push_back(error.what());
      }
    };
    const toml::table& root = toml_.root();
    part([&] {
      toml_.expect_keys(root, "the file",
                        {"format", "name", "authors", "url", "revision", "object", "description",
                         "date", "recipe", "evaluation", "predictions"});
    });
    part([&] {
      toml_.integer_of(toml_.required(root, "format", "the file"), "format", kFormat, kFormat);
    });
    part([&] { read_name(); });
    part([&] { read_authors(); });
    part([&] { read_url(); });
    part([&] { file_.revision = line(root, "revision", "the file", kMaxRevision); });
    part([&] { read_object(); });
    part([&] { file_.description = line(root, "description", "the file", kMaxDescription); });
    part([&] { read_date(); });
    part([&] { read_recipe(part); });
    part([&] { read_evaluation(); });
    part([&] {
      if (root.contains("predictions") || blanks_ == Blanks::kRefused) read_predictions();
    });
    return std::move(file_);
  }

 private:
  // Of the value of a key of the file itself.
  [[noreturn]] void refuse(const char* key, std::string_view rule, const std::string& text) const {
    toml_.fail(TomlReader::line_of(*toml_.root().get(key)), "'{}' {}, got '{}'", key, rule,
               printable(text));
  }

  void check_line(const std::string& text, toml::source_index at, const char* key,
                  std::size_t max_bytes) const {
    if (text.empty() && blanks_ == Blanks::kAllowed) return;
    if (!is_one_line(text, max_bytes)) {
      toml_.fail(at, "'{}' must be 1 to {} bytes of one line, got '{}'", key, max_bytes,
                 printable(text));
    }
  }

  std::string line(const toml::table& table, const char* key, std::string_view where,
                   std::size_t max_bytes) const {
    const auto [text, at] = toml_.required_text(table, key, where);
    check_line(text, at, key, max_bytes);
    return text;
  }

  std::string optional_line(const char* key, std::size_t max_bytes) const {
    const toml::node* node = toml_.root().get(key);
    if (!node) return {};
    const std::string text = toml_.text_of(*node, key);
    if (!text.empty()) check_line(text, TomlReader::line_of(*node), key, max_bytes);
    return text;
  }

  void read_name() {
    file_.name = line(toml_.root(), "name", "the file", kMaxSolverName);
    if (const std::string why = why_no_name(file_.name, kMaxSolverName); !why.empty()) {
      if (!file_.name.empty() || blanks_ == Blanks::kRefused) refuse("name", why, file_.name);
    }
  }

  void read_url() {
    file_.url = optional_line("url", kMaxUrl);
    if (!file_.url.empty() && !file_.url.starts_with("https://")) {
      refuse("url", "must be empty or start with https://", file_.url);
    }
  }

  void read_object() {
    file_.object = optional_line("object", kMaxObject);
    if (!file_.object.empty() && !is_object(file_.object)) {
      refuse("object", "must be empty or a Python object package.module:Name", file_.object);
    }
  }

  void read_authors() {
    const auto authors = toml_.required_texts(toml_.root(), "authors", "the file");
    if (authors.size() > kMaxAuthors) {
      toml_.fail(authors[0].second, "'authors' must be at most {} names, got {}", kMaxAuthors,
                 authors.size());
    }
    for (const auto& [author, at] : authors) {
      check_line(author, at, "authors", kMaxAuthor);
      file_.authors.push_back(author);
    }
  }

  void read_date() {
    const toml::node* node = toml_.root().get("date");
    if (blanks_ == Blanks::kAllowed && node && node->value_exact<std::string>() == "") return;
    file_.date = toml_.required_date(toml_.root(), "date", "the file");
  }

  const toml::table& required_table(const char* key) const {
    toml_.required(toml_.root(), key, "the file");
    return *toml_.table_of(toml_.root(), key);
  }

  template <typename Part>
  void read_recipe(Part&& part) {
    const toml::table& recipe = required_table("recipe");
    part([&] { toml_.expect_keys(recipe, "[recipe]", {"command", "updates", "hardware"}); });
    part([&] { file_.command = line(recipe, "command", "[recipe]", kMaxCommand); });
    part([&] {
      file_.updates =
          toml_.integer_of(toml_.required(recipe, "updates", "[recipe]"), "updates", 0, INT64_MAX);
    });
    part([&] { file_.hardware = line(recipe, "hardware", "[recipe]", kMaxHardware); });
  }

  void read_evaluation() {
    const toml::table& evaluation = required_table("evaluation");
    toml_.expect_keys(evaluation, "[evaluation]", {"seed", "seeds"});
    file_.evaluation_seed = static_cast<std::uint64_t>(
        toml_.integer_of(toml_.required(evaluation, "seed", "[evaluation]"), "seed", 0, INT64_MAX));
    file_.evaluation_seeds = static_cast<int>(toml_.integer_of(
        toml_.required(evaluation, "seeds", "[evaluation]"), "seeds", 1, kMaxSubmittedSeeds));
  }

  void read_predictions() {
    std::set<std::string> seen;
    for (const toml::table* table : toml_.required_tables(toml_.root(), "predictions")) {
      const toml::source_index at = TomlReader::line_of(*table);
      file_.predictions.push_back(read_answers(*table));
      const std::string folder = answers_folder(file_.predictions.back());
      if (!seen.insert(folder).second) {
        toml_.fail(at, "there are two {} of {}", kPredictions, printable(folder));
      }
      if (seen.size() > kMaxPredictions) {
        toml_.fail(at, "there must be at most {} {}", kMaxPredictions, kPredictions);
      }
    }
  }

  SubmittedAnswers read_answers(const toml::table& table) const {
    toml_.expect_keys(table, kPredictions,
                      {"pair", "fingerprint", "training_seed", "training_seconds", "samples",
                       "training_set", "sha256"});
    SubmittedAnswers answers;
    const auto [pair, pair_line] = toml_.required_text(table, "pair", kPredictions);
    if (const std::string why = why_no_submitted_pair(pair); !why.empty()) {
      toml_.fail(pair_line, "{}", why);
    }
    answers.pair = pair;
    answers.fingerprint = hex(table, "fingerprint", kPredictions, 16);
    answers.training_seed = static_cast<std::uint64_t>(toml_.integer_of(
        toml_.required(table, "training_seed", kPredictions), "training_seed", 0, INT64_MAX));
    answers.training_seconds = seconds(toml_.required(table, "training_seconds", kPredictions));
    answers.rows = rows(table);
    toml_.required(table, "sha256", kPredictions);
    const toml::table& files = *toml_.table_of(table, "sha256");
    toml_.expect_keys(files, "[predictions.sha256]", answer_files());
    for (const auto& [key, node] : files) {
      const std::string name(key.str());
      answers.sha256[name] = hex(files, name.c_str(), "[predictions.sha256]", 64);
    }
    for (const std::string& name : required_answer_files()) {
      if (!answers.sha256.contains(name)) {
        toml_.fail(TomlReader::line_of(files), "[predictions.sha256] must have '{}'", name);
      }
    }
    return answers;
  }

  std::string hex(const toml::table& table, const char* key, const char* where,
                  std::size_t digits) const {
    const auto [text, at] = toml_.required_text(table, key, where);
    if (!is_hex(text, digits)) {
      toml_.fail(at, "'{}' must be {} hexadecimal digits, got '{}'", key, digits, printable(text));
    }
    return text;
  }

  TrainingRows rows(const toml::table& table) const {
    const toml::node *samples = table.get("samples"), *set = table.get("training_set");
    if (!samples) {
      if (set) toml_.fail(TomlReader::line_of(*set), "'training_set' needs 'samples' beside it");
      return {};
    }
    const auto most = static_cast<std::int64_t>(kMaxTrainingRows);
    return {
        static_cast<std::size_t>(toml_.integer_of(*samples, "samples", 1, most)),
        set ? static_cast<std::uint64_t>(toml_.integer_of(*set, "training_set", 0, INT64_MAX)) : 0};
  }

  double seconds(const toml::node& node) const {
    const auto value = node.value<double>();
    if (!node.is_number() || !value || !(*value >= 0.0 && *value <= kMaxSeconds)) {
      toml_.fail(TomlReader::line_of(node), "'training_seconds' must be a number in 0..{}, got {}",
                 kMaxSeconds,
                 node.is_number() && value ? fmt::format("{}", *value) : TomlReader::kind_of(node));
    }
    return *value;
  }

  TomlReader toml_;
  Blanks blanks_;
  SolverFile file_;
};

// A TOML string: JSON's escapes are TOML's for a text of one line.
std::string toml_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A number that TOML reads as one with a fraction.
std::string decimal(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string answers_text(const SubmittedAnswers& answers) {
  std::string out =
      fmt::format("\n{}\npair = {}\nfingerprint = {}\ntraining_seed = {}\ntraining_seconds = {}\n",
                  kPredictions, toml_string(answers.pair), toml_string(answers.fingerprint),
                  answers.training_seed, decimal(answers.training_seconds));
  if (answers.rows.samples > 0) {
    out += fmt::format("samples = {}\ntraining_set = {}\n", answers.rows.samples,
                       answers.rows.training_set);
  }
  out += "[predictions.sha256]\n";
  for (const auto& [name, hash] : answers.sha256) {
    out += fmt::format("{} = {}\n", toml_string(name), toml_string(hash));
  }
  return out;
}

}  // namespace

SolverFile load_solver_file(const std::filesystem::path& folder, Blanks blanks) {
  return Reader(folder / kSolverFile, blanks).read(nullptr);
}

SolverFile load_solver_file(const std::filesystem::path& folder, std::vector<std::string>& faults) {
  return Reader(folder / kSolverFile, Blanks::kRefused).read(&faults);
}

std::string why_name_is_taken(std::string_view name) {
  const std::string look = look_of(name);
  for (const auto& own : all_solvers()) {
    const std::string own_name(own->name()), title = solver_title(own_name);
    if (look != look_of(title) && look != look_of(own_name)) continue;
    return fmt::format(
        "must look like none of Bridgemark's own solvers, got '{}', which looks like '{}'",
        printable(name), title);
  }
  return {};
}

std::string new_solver_file(std::string_view name, std::uint64_t evaluation_seed,
                            int evaluation_seeds, const KnownOfSolver& known) {
  const auto text = [](const std::string& known_text, std::size_t max_bytes) {
    return toml_string(is_one_line(known_text, max_bytes) ? known_text : "");
  };
  const std::string date = known.date.empty() ? toml_string("") : known.date;
  return fmt::format(R"(format = {}
name = {:<18} # what the board calls it
authors = [""]
url = ""                  # https://..., or empty
revision = {:<14} # of the solver's source: a commit or a tag
object = ""               # package.module:Name at that revision, or empty
description = {:<11} # what it does, in a sentence
date = {:<18} # of the training, as 2026-11-16 without quotes

[recipe]
command = {:<15} # what trains it
updates = {:<15} # of one training
hardware = {:<14} # what it was trained on

[evaluation]
seed = {}
seeds = {}
)",
                     kFormat, toml_string(name), text(known.revision, kMaxRevision),
                     text(known.description, kMaxDescription), date,
                     text(known.command, kMaxCommand), known.updates,
                     text(known.hardware, kMaxHardware), evaluation_seed, evaluation_seeds);
}

std::string with_predictions(std::string_view text,
                             const std::vector<SubmittedAnswers>& predictions) {
  std::size_t end = 0;
  while (end < text.size() && !text.substr(end).starts_with(kPredictions)) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  std::string out(text.substr(0, end));
  while (out.ends_with("\n\n")) out.pop_back();
  if (!out.ends_with('\n')) out += '\n';
  for (const SubmittedAnswers& answers : predictions) out += answers_text(answers);
  return out;
}

}  // namespace bridgemark
