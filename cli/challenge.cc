#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/io/printable.h"
#include "bridgemark/report/board/challenge_table.h"
#include "bridgemark/submission/challenge/challenge.h"
#include "bridgemark/submission/challenge/check_challenge.h"
#include "bridgemark/submission/challenge/commitment.h"
#include "bridgemark/submission/challenge/reveal.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

constexpr int kFar = 1;

void add_new(CLI::App& challenge, Action& action) {
  struct Options {
    Challenge challenge{.instances = 3};
    double max_seconds = 0.0;
    std::string folder;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      challenge.add_subcommand("new", "Write a challenge: presets, instances of each, the track");
  command->footer(
      "Examples:\n"
      "  bridgemark challenge new --pair d2-gaussian-0.02-spread --instances 4 --closes "
      "'2027-03-01 12:00 UTC' --value-from 'the first drand beacon after it' -o spring");
  Challenge& asked = options->challenge;
  command
      ->add_option("--pair", asked.pairs,
                   "A preset whose instances are to be learned; as often as there are")
      ->type_size(1)
      ->allow_extra_args(false)
      ->required();
  command->add_option("--instances", asked.instances, "Instances of each preset")
      ->check(CLI::Range(kFewestInstances, kMostInstances))
      ->capture_default_str();
  command
      ->add_option("--samples", asked.samples,
                   "Rows a side that solvers may train on; 0: endless draws")
      ->check(whole_number())
      ->capture_default_str();
  CLI::Option* seconds = command->add_option("--max-seconds", options->max_seconds,
                                             "Seconds that one training may take (default: any)");
  seconds->check(number_in(1e-3, 1e12));
  command->add_option("--closes", asked.closes, "Until when commitments are taken, in words")
      ->required();
  command
      ->add_option("--value-from", asked.value_from,
                   "The public random value that will decide, in words: nobody may know it before")
      ->required();
  command->add_option("-o,--output", options->folder, "Folder to write")->required();
  command->callback([=, &action] {
    if (seconds->count() > 0) options->challenge.max_seconds = options->max_seconds;
    action = [=] {
      write_challenge(options->challenge, options->folder);
      say("{}/{}: {} of {}\n", terminal_text(options->folder), kChallengeFile,
          counted(static_cast<std::size_t>(options->challenge.instances), "instance"),
          counted(options->challenge.pairs.size(), "preset"));
      return 0;
    };
  });
}

void add_commit(CLI::App& challenge, Action& action) {
  struct Options {
    std::string folder, label, secret;
    std::vector<std::string> files;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = challenge.add_subcommand(
      "commit", "Commit a solver, the files that it is, to a challenge by their hash");
  command->footer(
      "Examples:\n"
      "  bridgemark challenge commit spring --label Mine --files solver.py config.toml -o "
      "secret.json");
  command->add_option("DIR", options->folder, "Folder of the challenge")->required();
  command->add_option("--label", options->label, "The solver's name, as its submission has it")
      ->required();
  command
      ->add_option("--files", options->files,
                   "All that the solver is: sources, configuration, weights; names must differ")
      ->required();
  command
      ->add_option("-o,--output", options->secret,
                   "File to write what the hash is of to; keep it until the scores are asked for")
      ->required();
  command->callback([=, &action] {
    action = [=] {
      const Commitment commitment =
          commit_solver(options->folder, options->label,
                        {options->files.begin(), options->files.end()}, options->secret);
      say("{} {} {}\n", commitment.digest, commitment.time, terminal_text(commitment.label));
      return 0;
    };
  });
}

void say_instances(const Reveal& reveal, const std::vector<std::filesystem::path>& kits) {
  for (std::size_t i = 0; i < reveal.instances.size(); ++i) {
    const RevealedInstance& instance = reveal.instances[i];
    say("{}{}{}\n", instance.pair,
        instance.rows.samples > 0 ? fmt::format(" --samples {} --training-set {}",
                                                instance.rows.samples, instance.rows.training_set)
                                  : "",
        kits.empty() ? "" : "  " + terminal_text(kits[i].string()));
  }
  say("seed {}, of each training and of the evaluation\n", reveal.seed);
}

void add_reveal(CLI::App& challenge, Action& action) {
  struct Options {
    CommonOptions common;
    std::string folder, value, kits;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = challenge.add_subcommand(
      "reveal", "Close a challenge's commitments by the value, which decides its instances");
  command->footer(
      "Examples:\n"
      "  bridgemark challenge reveal spring --value 8f1c07 --kits kits");
  command->add_option("DIR", options->folder, "Folder of the challenge")->required();
  command->add_option("--value", options->value, "The public random value, as it was published")
      ->required();
  command->add_option("--kits", options->kits,
                      "Folder to write a kit for each instance to, which does not name its pair");
  add_common_options(*command, options->common);
  command->callback([=, &action] {
    action = [=] {
      const Context context = options->common.context();
      const Reveal reveal = reveal_challenge(options->folder, options->value);
      std::vector<std::filesystem::path> kits;
      if (!options->kits.empty()) kits = write_challenge_kits(context, reveal, options->kits);
      say_instances(reveal, kits);
      return 0;
    };
  });
}

nlohmann::json scores_json(const std::vector<ChallengeScore>& scores) {
  nlohmann::json all = nlohmann::json::array();
  for (const ChallengeScore& score : scores) {
    all.push_back({{"pair", score.pair},
                   {"seconds", score.seconds},
                   {"value", score.value},
                   {"standard_error", score.standard_error},
                   {"of_truth", score.of_truth},
                   {"distance", score.distance}});
  }
  return all;
}

std::string check_json(const ChallengeCheck& check) {
  nlohmann::json verdicts = nlohmann::json::array();
  for (const PresetVerdict& verdict : check.verdicts) {
    verdicts.push_back({{"preset", verdict.preset},
                        {"open", verdict.open},
                        {"revealed", verdict.revealed},
                        {"times", verdict.times},
                        {"may_be", verdict.may_be},
                        {"far", verdict.far}});
  }
  return nlohmann::json{{"name", check.solver.name},
                        {"revision", check.solver.revision},
                        {"score", check.score},
                        {"revealed", scores_json(check.revealed)},
                        {"open", scores_json(check.open)},
                        {"verdicts", verdicts}}
      .dump(2);
}

void add_check(CLI::App& challenge, Action& action) {
  struct Options {
    CommonOptions common;
    std::string folder, submission, secret, files, open;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = challenge.add_subcommand(
      "check", "Score a committed solver's submission on the revealed instances");
  command->footer(
      "Examples:\n"
      "  bridgemark challenge check spring mine --secret secret.json --files-from solver\n"
      "  bridgemark challenge check spring mine --secret secret.json --files-from solver --open "
      "mine-open\n"
      "Exit status 2 with a line for each thing that is wrong: a file that was changed, an "
      "instance too many or too few, whatever check-submission refuses. Exit status 1 where the "
      "solver is farther from the truth than its open answers let expect.");
  command->add_option("DIR", options->folder, "Folder of the challenge")->required();
  command->add_option("SUBMISSION", options->submission, "Submission with the revealed instances")
      ->required();
  command->add_option("--secret", options->secret, "What challenge commit wrote for the makers")
      ->required();
  command
      ->add_option("--files-from", options->files, "Folder with the files that were committed to")
      ->required();
  command->add_option("--open", options->open,
                      "Submission of the same solver on the presets themselves: says whether it is "
                      "as good on what it could not know");
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] {
    action = [=] {
      const Context context = options->common.context();
      ChallengeEntry entry = {options->folder, options->submission, options->secret,
                              options->files};
      if (!options->open.empty()) entry.open = options->open;
      const ChallengeCheck check = check_challenge(context, entry);
      for (const std::string& line : check.refusals) note("bridgemark: {}\n", line);
      if (!check.refusals.empty()) return kBadInput;
      if (options->common.json) {
        say("{}\n", check_json(check));
      } else {
        say("{}", challenge_table(check));
      }
      return check.is_far() ? kFar : 0;
    };
  });
}

}  // namespace

void add_challenge(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "challenge", "Commit solvers by a hash, then draw the pairs that they have to learn");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  bridgemark challenge new --pair d2-gaussian-0.02-spread --closes 'March 1st' --value-from "
      "'the lottery of March 2nd' -o spring\n"
      "  bridgemark challenge commit spring --label Mine --files solver.py config.toml -o "
      "secret.json\n"
      "  bridgemark challenge reveal spring --value 4-8-15-16-23-42 --kits kits\n"
      "  bridgemark challenge check spring mine --secret secret.json --files-from .");
  add_new(*command, action);
  add_commit(*command, action);
  add_reveal(*command, action);
  add_check(*command, action);
}

}  // namespace bridgemark::cli
