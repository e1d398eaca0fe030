#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/custom_pair.h"
#include "bridgemark/pair/family_numbers.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct BuildOptions {
  CommonOptions common;
  std::string pair;
  std::string output;
  PairParts parts;
  std::string reference = std::get<std::string>(parts.reference);
  std::string source = std::get<std::string>(parts.source);
  std::string family = std::string(pair_family_name(parts.spec.family));
  std::string tree = "binary";
  bool reverse = false;
  bool seed_given = false;
};

constexpr char kCustom[] = "custom";

// PAIR as a refusal names it, where it is not 'custom'.
std::optional<std::string> unless_custom(const BuildOptions& options) {
  if (options.pair == kCustom) return std::nullopt;
  return fmt::format("PAIR '{}'", options.pair);
}

std::optional<std::string> if_folder(const BuildOptions& options) {
  if (options.pair == kCustom || find_preset(options.pair)) return std::nullopt;
  return fmt::format("the pair folder '{}', which has its own", options.pair);
}

// --tree: a name, or PARENT.npy,NODE_OF.npy.
std::variant<std::string, TreeShape> read_tree(const std::string& value) {
  const std::size_t comma = value.find(',');
  if (comma == std::string::npos) return value;
  const auto nodes = [&](const std::string& path) {
    const NpyArray array = load_npy(path);
    if (array.shape.size() != 1 || is_floating(array.dtype)) {
      throw_file(path, "a tree's array must hold whole numbers along one axis");
    }
    return array.to_int32();
  };
  return TreeShape(nodes(value.substr(0, comma)), nodes(value.substr(comma + 1)));
}

// A pair of the user's own: the construction's numbers from options, matrices and data from files.
PairSpec spec_of(const BuildOptions& options) {
  PairParts parts = options.parts;
  parts.spec.seed = options.common.seed;
  parts.spec.family = parse_built_family(options.family);
  parts.spec.reverse = options.reverse;
  parts.reference = read_reference(options.reference);
  if (parts.spec.family == PairFamily::kTree) parts.tree = read_tree(options.tree);
  parts.source = options.source;
  if (is_npy(options.source)) {
    if (is_floating(load_npy(options.source).dtype)) {
      parts.source = load_matrix(options.source);
    } else {
      parts.source = load_states(options.source);
    }
  }
  return custom_spec(std::move(parts));
}

// With --reverse, the pair from the other end.
BenchmarkPair asked_direction(BenchmarkPair pair, const BuildOptions& options) {
  if (!options.reverse) return pair;
  if (pair.reverse()) {
    throw_invalid("build", "--reverse goes with a pair from p0 to p1, got {}, which is reversed",
                  options.pair);
  }
  return pair.reversed();
}

BenchmarkPair make_pair(const BuildOptions& options) {
  if (options.pair == kCustom) return build_pair(spec_of(options));
  if (std::optional<PairSpec> preset = find_preset(options.pair)) {
    if (options.seed_given) *preset = sibling_of(*preset, options.common.seed);
    return asked_direction(build_pair(*preset), options);
  }
  return asked_direction(load_pair(options.pair), options);
}

int run_build(const BuildOptions& options) {
  const Context context = options.common.context();
  const BenchmarkPair pair = make_pair(options);
  warn_if_still(pair.bridge().process());
  write_pair_folder(context, pair, options.output);
  say("{}: {} (D = {}, S = {}, K = {}, seed {})\n", terminal_text(options.output),
      terminal_text(pair.identity().name), pair.dim(), pair.num_categories(),
      pair.bridge().num_components(), pair.identity().seed);
  say_next(options.common, {"train", "dlightsb", "--pair", options.output, "-o", "run"});
  return 0;
}

}  // namespace

void add_build(CLI::App& app, Action& action) {
  auto options = std::make_shared<BuildOptions>();
  CLI::App* command =
      app.add_subcommand("build", "Write a pair as a folder: config.json and model.safetensors");
  command->footer(
      "Examples:\n"
      "  bridgemark build d16-gaussian-0.02 -o pair\n"
      "  bridgemark build custom --dim 8 --categories 20 --reference uniform --gamma 0.01 -o pair\n"
      "  bridgemark build custom --dim 8 --family spread --seed 3 -o pair\n"
      "  bridgemark build custom --dim 64 --family tree --tree quadtree -o pair\n"
      "  bridgemark build custom --dim 64 --family tree --two-sided -o pair\n"
      "  bridgemark build custom --source data.npy --categories 256 --reference Q.npy -o pair");
  command->add_option("PAIR", options->pair, "A preset, a pair folder, or 'custom'")->required();
  command->add_option("-o,--output", options->output, "Folder to write")->required();
  add_seed_option(*command, options->common,
                  "Seed of the construction; a preset given one becomes a sibling of its own");
  only_for(command->get_option("--seed"), "a preset or PAIR 'custom'",
           [=] { return if_folder(*options); });
  add_common_options(*command, options->common);
  command->add_flag("--reverse", options->reverse, "Ask for p1 -> p0, of a pair from p0 to p1");
  const std::string group = "Options of 'custom'";
  PairSpec& spec = options->parts.spec;
  command
      ->add_option("--dim", options->parts.dim,
                   fmt::format("D, where no --source file says it (default: {})", spec.dim))
      ->group(group);
  command
      ->add_option("--categories", options->parts.num_categories,
                   fmt::format("S, where no --reference or --source file says it (default: {})",
                               spec.num_categories))
      ->group(group);
  command->add_option("--components", spec.num_components, "K, components of the potential")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--reference", options->reference,
                   "gaussian, uniform, a .npy matrix [S,S] of step probabilities, or "
                   "lowrank:U.npy,V.npy, both [S,r]: each step stays with 1 - gamma and else moves "
                   "by U V^T")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--gamma", options->parts.gamma,
                   fmt::format("Stochasticity of the reference: > 0; uniform: below 1; lowrank: at "
                               "most 1; not of a matrix (default: {})",
                               spec.gamma))
      ->group(group);
  command->add_option("--steps", spec.total_steps, "Elementary steps between x0 and x1")
      ->group(group)
      ->capture_default_str();
  command->add_option("--sigma", spec.sigma, "Width of a component, in categories")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option(
          "--family", options->family,
          "How the pair is made: sphere or spread (whole numbers 5..S-6) for the means, chain: "
          "spread with components that change along the coordinates, twosided: spread for a "
          "potential at either end, tree: spread with components that change down a tree")
      ->group(group)
      ->capture_default_str();
  command->add_option("--radius", spec.radius, "Family sphere: its radius")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--min-distance", options->parts.min_distance,
                   fmt::format("All but sphere: least distance of two means, in categories; given, "
                               "it must be met (default: {}, tried for)",
                               spec.min_distance))
      ->group(group);
  command
      ->add_option(
          "--switch-rate", spec.switch_rate,
          "Families chain and tree: probability to leave the component at each coordinate, or "
          "at each node below the root")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--tree", options->tree,
                   "Family tree: binary (halves of a line of coordinates), quadtree (quarters of a "
                   "square) or PARENT.npy,NODE_OF.npy: the parent of each node, -1 first, and the "
                   "node of each coordinate")
      ->group(group)
      ->capture_default_str();
  command
      ->add_flag("--two-sided", spec.two_sided,
                 "Family tree: a potential at either end, on one tree; p0 follows from them")
      ->group(group);
  command
      ->add_option("--source", options->source,
                   "p0: gaussian, uniform, a float .npy pmf [D,S], or an integer .npy [n,D] of "
                   "states")
      ->group(group)
      ->capture_default_str();
  command->add_option("--name", spec.name, "Name of the pair")->group(group)->capture_default_str();
  for (CLI::Option* option : command->get_options()) {
    if (option->get_group() != group) continue;
    only_for(option, "PAIR 'custom'", [=] { return unless_custom(*options); });
  }
  for (const char* name : {"--tree", "--two-sided"}) {
    only_for(command->get_option(name), "--family tree", [=]() -> std::optional<std::string> {
      if (options->family == pair_family_name(PairFamily::kTree)) return std::nullopt;
      return "--family " + options->family;
    });
  }
  only_for(command->get_option("--gamma"), "--reference gaussian, uniform or lowrank",
           [=]() -> std::optional<std::string> {
             if (is_low_rank(options->reference) || !is_npy(options->reference)) {
               return std::nullopt;
             }
             return "--reference " + options->reference;
           });
  for (const FamilyNumber& number : family_numbers()) {
    std::string name = fmt::format("--{}", number.name);
    std::replace(name.begin(), name.end(), '_', '-');
    only_for(command->get_option(name), "--family " + number.family_names(),
             [=]() -> std::optional<std::string> {
               if (number.belongs_to(parse_built_family(options->family))) return std::nullopt;
               return "--family " + options->family;
             });
  }
  command->callback([=, &action] {
    options->seed_given = command->count("--seed") > 0;
    action = [=] { return run_build(*options); };
  });
}

}  // namespace bridgemark::cli
