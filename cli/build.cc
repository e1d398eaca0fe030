#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"

namespace bridgemark::cli {

namespace {

struct Options {
  CommonOptions common;
  std::string pair;
  std::string output;
  std::string reference = "gaussian";
  std::string source = "gaussian";
  std::string family = "sphere";
  PairSpec spec;
  bool reverse = false;
  bool seed_given = false;
};

Matrix<double> load_matrix(const std::string& path) {
  const NpyArray array = load_npy(path);
  if (array.shape.size() != 2) {
    throw_file(path, "expected a two-dimensional array, got {} dimensions", array.shape.size());
  }
  return {array.shape[0], array.shape[1], array.to_doubles()};
}

// A pair of the user's own: the construction's numbers from options, matrices and data from files.
PairSpec custom_spec(const Options& options) {
  PairSpec spec = options.spec;
  spec.seed = options.common.seed;
  spec.family = parse_pair_family(options.family);
  if (options.reference == "uniform") {
    spec.reference = ReferenceKind::kUniform;
  } else if (options.reference == "gaussian") {
    spec.reference = ReferenceKind::kGaussian;
  } else if (options.reference.ends_with(".npy")) {
    spec.reference = ReferenceKind::kMatrix;
    spec.reference_matrix = load_matrix(options.reference);
    spec.num_categories = static_cast<int>(spec.reference_matrix->rows());
  } else {
    throw_invalid("build", "--reference must be gaussian, uniform or a .npy matrix, got '{}'",
                  options.reference);
  }
  if (options.source.ends_with(".npy")) {
    const NpyArray array = load_npy(options.source);
    if (!is_floating(array.dtype)) {
      States states = load_states(options.source);
      spec.dim = static_cast<int>(states.cols());
      spec.source = SourceDistribution::empirical(std::move(states), spec.num_categories);
    } else {
      spec.source = SourceDistribution::product(load_matrix(options.source));
      spec.dim = static_cast<int>(spec.source->dim());
    }
  } else if (options.source == "uniform") {
    spec.source = SourceDistribution::uniform(static_cast<std::size_t>(std::max(spec.dim, 0)),
                                              spec.num_categories, -3.0, 3.0);
  } else if (options.source != "gaussian") {
    throw_invalid("build", "--source must be gaussian, uniform or a .npy file, got '{}'",
                  options.source);
  }
  return spec;
}

BenchmarkPair make_pair(const Options& options) {
  if (options.pair == "custom") {
    PairSpec spec = custom_spec(options);
    spec.reverse = options.reverse;
    return build_pair(spec);
  }
  if (std::optional<PairSpec> preset = find_preset(options.pair)) {
    if (options.seed_given) {
      preset->seed = options.common.seed;
      preset->name = fmt::format("{}-seed-{}", preset->name, preset->seed);
    }
    preset->reverse = preset->reverse || options.reverse;
    return build_pair(*preset);
  }
  return load_pair(options.pair);
}

int run(const Options& options) {
  const Context context = options.common.context();
  const BenchmarkPair pair = make_pair(options);
  warn_if_still(pair.bridge().process());
  write_pair_folder(context, pair, options.output);
  fmt::print("{}: {} (D = {}, S = {}, K = {}, seed {})\n", options.output, pair.identity().name,
             pair.dim(), pair.num_categories(), pair.bridge().potential().num_components(),
             pair.identity().seed);
  return 0;
}

}  // namespace

void add_build(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("build", "Write a pair as a folder: config.json and model.safetensors");
  command->footer(
      "Examples:\n"
      "  bridgemark build d16-gaussian-0.02 -o pair\n"
      "  bridgemark build custom --dim 8 --categories 20 --reference uniform --gamma 0.01 -o pair\n"
      "  bridgemark build custom --dim 8 --family spread --seed 3 -o pair\n"
      "  bridgemark build custom --source data.npy --categories 256 --reference Q.npy -o pair");
  command->add_option("PAIR", options->pair, "A preset, a pair folder, or 'custom'")->required();
  command->add_option("-o,--output", options->output, "Folder to write")->required();
  add_common_options(*command, options->common,
                     "Seed of the construction; a preset given one becomes a sibling of its own");
  command->add_flag("--reverse", options->reverse, "Ask for p1 -> p0");
  const std::string group = "Options of 'custom'";
  PairSpec& spec = options->spec;
  command->add_option("--dim", spec.dim, "D; a --source file decides it")->group(group);
  command->add_option("--categories", spec.num_categories, "S; a --reference file decides it")
      ->group(group)
      ->capture_default_str();
  command->add_option("--components", spec.num_components, "K, components of the potential")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--reference", options->reference,
                   "gaussian, uniform, or a .npy matrix [S,S] of step probabilities")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--gamma", spec.gamma, "Stochasticity of the reference: > 0; uniform: below 1")
      ->group(group)
      ->capture_default_str();
  command->add_option("--steps", spec.total_steps, "Elementary steps between x0 and x1")
      ->group(group)
      ->capture_default_str();
  command->add_option("--sigma", spec.sigma, "Width of a component, in categories")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--family", options->family,
                   "How the means are drawn: sphere, or spread over whole numbers 5..S-6")
      ->group(group)
      ->capture_default_str();
  command->add_option("--radius", spec.radius, "Family sphere: its radius")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--min-distance", spec.min_distance,
                   "Family spread: least distance of two means, in categories")
      ->group(group)
      ->capture_default_str();
  command
      ->add_option("--source", options->source,
                   "p0: gaussian, uniform, a float .npy pmf [D,S], or an integer .npy [n,D] of "
                   "states")
      ->group(group)
      ->capture_default_str();
  command->add_option("--name", spec.name, "Name of the pair")->group(group)->capture_default_str();
  command->callback([=, &action] {
    options->seed_given = command->count("--seed") > 0;
    for (const char* option :
         {"--dim", "--categories", "--components", "--reference", "--gamma", "--steps", "--sigma",
          "--family", "--radius", "--min-distance", "--source", "--name"}) {
      if (options->pair != "custom" && command->count(option) > 0) {
        throw_invalid("build", "{} goes with PAIR 'custom', got PAIR '{}'", option, options->pair);
      }
    }
    for (const auto& [option, family] : {std::pair{"--radius", PairFamily::kSphere},
                                         std::pair{"--min-distance", PairFamily::kSpread}}) {
      if (command->count(option) > 0 && parse_pair_family(options->family) != family) {
        throw_invalid("build", "{} goes with --family {}, got --family {}", option,
                      pair_family_name(family), options->family);
      }
    }
    action = [=] { return run(*options); };
  });
}

}  // namespace bridgemark::cli
