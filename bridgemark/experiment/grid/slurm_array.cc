#include "bridgemark/experiment/grid/slurm_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/make_run.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"

namespace bridgemark {

namespace {

bool names(const std::string& option, std::string_view name) {
  return option == name || option.starts_with(std::string(name) + "=");
}

bool asks_for_gpu(const std::string& option) {
  return option.starts_with("--gres") || option.starts_with("--gpus") || option.starts_with("-G");
}

// A path in a file name that sbatch fills in.
std::string sbatch_text(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

std::vector<std::string> read_lines(const std::filesystem::path& path, std::size_t first,
                                    std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_file(path.string(), "cannot be read");
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; lines.size() < count && std::getline(file, line); ++i) {
    if (i >= first) lines.push_back(line);
  }
  return lines;
}

}  // namespace

void check_sbatch_options(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    for (const char* name : {"--array", "-a", "--wrap", "--wait", "-W"}) {
      if (!names(option, name)) continue;
      throw_invalid("run",
                    "{} is set by --slurm, which makes job arrays and waits for them; give other "
                    "options of sbatch",
                    option);
    }
  }
}

SlurmArray::SlurmArray(const GridFolder& grid, int number)
    : grid_folder_(grid.path()),
      folder_(grid.slurm() / std::to_string(number)),
      list_(folder_ / "runs.jsonl"),
      script_(folder_ / "task.sh"),
      record_(folder_ / "array.json") {}

bool SlurmArray::exists() const { return path_exists(list_); }

std::filesystem::path SlurmArray::task_log(int task) const {
  return folder_ / fmt::format("task-{}.txt", task);
}

std::vector<std::string> SlurmArray::prepare(const Context& context, const std::string& job_name,
                                             const std::vector<const ExperimentRun*>& runs,
                                             const SlurmOptions& options) const {
  create_folder(folder_);
  std::string list;
  for (const ExperimentRun* run : runs) list += run_text(*run) + "\n";
  write_file_atomically(list_, list);
  write_file_atomically(script_, script(context, options));
  const std::string at_once = options.at_once > 0 ? fmt::format("%{}", options.at_once) : "";
  std::vector<std::string> arguments = {
      fmt::format("--array=0-{}{}", tasks_of(runs.size(), options.runs_per_task) - 1, at_once),
      "--job-name=" + job_name,
      fmt::format("--output={}/task-%a.txt", sbatch_text(folder_.string())),
      "--open-mode=append",  // a task that Slurm starts again goes on in its file
      "--requeue",
      fmt::format("--cpus-per-task={}", std::max(1, context.num_threads))};
  if (context.device == Device::kCuda && std::ranges::none_of(options.sbatch, asks_for_gpu)) {
    arguments.push_back("--gres=gpu:1");
  }
  arguments.insert(arguments.end(), options.sbatch.begin(), options.sbatch.end());
  arguments.push_back(script_.string());
  return arguments;
}

std::string SlurmArray::script(const Context& context, const SlurmOptions& options) const {
  const std::vector<std::string> words = {
      options.program.string(),
      kTaskCommand,
      grid_folder_.string(),
      list_.string(),
      "--runs-per-task",
      std::to_string(options.runs_per_task),
      "--jobs",
      std::to_string(options.jobs),
      "--device",
      std::string(device_name(context.device)),
      "--stale-after",
      fmt::format("{}", static_cast<double>(options.stale_after.count()) / 1e3)};
  return "#!/bin/sh\nexec " + shell_words(words) +
         " --task \"$SLURM_ARRAY_TASK_ID\" --threads \"$SLURM_CPUS_PER_TASK\"\n";
}

void SlurmArray::write_submitted(const std::string& job, int runs_per_task) const {
  save_json(record_, {{"job", job}, {"runs_per_task", runs_per_task}});
}

std::optional<SlurmArray::Submitted> SlurmArray::read_submitted() const {
  if (!path_exists(record_)) return std::nullopt;
  const std::string where = record_.string();
  const nlohmann::json record = load_json(record_);
  Submitted submitted{json_get<std::string>(record, "job", where),
                      std::max(1, json_get<int>(record, "runs_per_task", where))};
  for (const std::string& line : read_lines(list_, 0, SIZE_MAX)) {
    submitted.runs.push_back(parse_run(line).id);
  }
  return submitted;
}

std::vector<ExperimentRun> read_task_runs(const std::filesystem::path& list, int task,
                                          int runs_per_task) {
  const auto per_task = static_cast<std::size_t>(runs_per_task);
  std::vector<ExperimentRun> runs;
  for (const std::string& line :
       read_lines(list, static_cast<std::size_t>(task) * per_task, per_task)) {
    runs.push_back(parse_run(line));
  }
  if (runs.empty()) throw_file(list.string(), "has no runs for task {}", task);
  return runs;
}

}  // namespace bridgemark
