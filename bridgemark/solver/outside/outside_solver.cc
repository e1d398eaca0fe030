#include "bridgemark/solver/outside/outside_solver.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

constexpr std::size_t kLongestTitle = 80;  // bytes

// Those that were found, which live as long as the process.
struct KnownOutside {
  std::mutex mutex;
  OutsideSolvers solvers;
  std::map<std::string, std::unique_ptr<OutsideSolver>> found;
};

KnownOutside& known_outside() {
  static auto* known = new KnownOutside;  // never ended: its solvers may be another language's
  return *known;
}

using Find = std::function<std::unique_ptr<OutsideSolver>(const std::string&)>;

// The one that is known, else what `find` of those that are set finds.
const OutsideSolver* look_up(const std::string& name, Find OutsideSolvers::*find) {
  KnownOutside& known = known_outside();
  std::unique_lock lock(known.mutex);
  if (const auto found = known.found.find(name); found != known.found.end()) {
    return found->second.get();
  }
  const Find ask = known.solvers.*find;
  lock.unlock();  // another language has locks of its own
  auto solver = ask ? ask(name) : nullptr;
  if (!solver) return nullptr;
  lock.lock();
  return known.found.try_emplace(name, std::move(solver)).first->second.get();
}

OptionKind read_kind(const nlohmann::json& option, const std::string& where) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto kind = json_get<std::string>(option, "kind", where);
  if (kind == "int") {
    return IntegerRange{json_get_or<int>(option, "low", std::numeric_limits<int>::min(), where),
                        json_get_or<int>(option, "high", std::numeric_limits<int>::max(), where)};
  }
  if (kind == "float") {
    return RealRange{json_get_or<double>(option, "low", -kInfinity, where),
                     json_get_or<double>(option, "high", kInfinity, where)};
  }
  if (kind == "choice") {
    Choices choices;
    for (const nlohmann::json& name :
         json_part(option, "choices", nlohmann::json::value_t::array, where)) {
      choices.names.push_back(name.get<std::string>());
    }
    return choices;
  }
  if (kind == "text") return FilePath{};  // any text, as a path is
  throw_file(where, "'kind' must be int, float, choice or text, got '{}'", kind);
}

OptionSpec read_option(const nlohmann::json& option, const std::string& where) {
  return {.key = json_get<std::string>(option, "key", where),
          .kind = read_kind(option, where),
          .default_value = json_get<std::string>(option, "default", where),
          .help = json_get<std::string>(option, "help", where),
          .counts_updates = json_get<bool>(option, "counts_updates", where)};
}

// Reads each value by its kind, which refuses what the kind does not allow.
void check_values(const SolverOptions& options) {
  for (const OptionSpec& spec : options.specs()) {
    if (std::holds_alternative<Choices>(spec.kind)) {
      options.choice(spec.key);
    } else if (!std::holds_alternative<FilePath>(spec.kind)) {
      options.number(spec.key);
    }
  }
}

[[noreturn]] void refuse_here(const std::string& name) {
  throw_invalid("solver",
                "{} is a solver of Python: bridgemark run trains and scores it, and "
                "bridgemark.load_solver(folder) reads its run there",
                name);
}

}  // namespace

OutsideDescription parse_outside_description(const std::string& name, const std::string& json) {
  const std::string where = "what solver " + name + " says of itself";
  OutsideDescription description;
  try {
    const nlohmann::json fields = parse_json(json, where);
    description.title = json_get<std::string>(fields, "title", where);
    if (!is_one_line(description.title, kLongestTitle)) {
      throw_file(where, "'title' must be a line of 1 to {} bytes, got '{}'", kLongestTitle,
                 printable(description.title));
    }
    description.description = json_get<std::string>(fields, "description", where);
    description.has_both_directions = json_get<bool>(fields, "has_both_directions", where);
    description.keeps_model = json_get<bool>(fields, "keeps_model", where);
    for (const nlohmann::json& option :
         json_part(fields, "options", nlohmann::json::value_t::array, where)) {
      description.options.push_back(read_option(option, where));
    }
    check_values(SolverOptions(description.options));
  } catch (const FileError& error) {
    throw_invalid("solver", "{}", error.what());
  } catch (const nlohmann::json::exception&) {
    throw_invalid("solver", "choices of {} must be texts", name);
  } catch (const InvalidArgument& error) {
    throw_invalid("solver", "defaults of {}: {}", name, error.what());
  }
  return description;
}

void OutsideSolver::check(const Context&, const FitProblem&, const SolverOptions& options) const {
  check_values(options);
}

Fitted OutsideSolver::fit(const Context&, const FitProblem&, const SolverOptions&, std::uint64_t,
                          const TrainingFiles&) const {
  refuse_here(name_);
}

void OutsideSolver::save(const Coupling&, const std::filesystem::path&) const {
  refuse_here(name_);
}

std::shared_ptr<const Coupling> OutsideSolver::load(const Context&, const FitProblem&,
                                                    const std::filesystem::path&) const {
  refuse_here(name_);
}

void set_outside_solvers(OutsideSolvers solvers) {
  KnownOutside& known = known_outside();
  const std::lock_guard lock(known.mutex);
  known.solvers = std::move(solvers);
}

bool is_library_solver(const std::string& name) {
  return std::ranges::any_of(all_solvers(), [&](const auto& own) { return own->name() == name; });
}

const OutsideSolver* find_outside_solver(const std::string& name) {
  return is_library_solver(name) ? nullptr : look_up(name, &OutsideSolvers::find);
}

const Solver& find_library_solver(const std::string& name) {
  if (!is_library_solver(name)) {
    if (name.starts_with(kPythonPrefix)) refuse_here(name);
    const std::vector<std::string> outside = outside_solver_names();
    if (std::ranges::find(outside, name) != outside.end()) refuse_here(name);
  }
  return find_solver(name);
}

const Solver& find_solver_of_file(const std::string& name, const std::filesystem::path& file) {
  if (is_library_solver(name)) return find_solver(name);
  if (const auto* outside = look_up(name, &OutsideSolvers::find_loaded)) return *outside;
  throw_file(file.string(),
             "names the solver '{}', which is none of the library's: where it is Python's, import "
             "its module and call bridgemark.load_solver there",
             name);
}

std::vector<std::string> outside_solver_names() {
  KnownOutside& known = known_outside();
  std::unique_lock lock(known.mutex);
  const auto names = known.solvers.names;
  lock.unlock();
  return names ? names() : std::vector<std::string>();
}

}  // namespace bridgemark
