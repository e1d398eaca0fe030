#include "bridgemark/experiment/slurm_grid.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/experiment/cell.h"
#include "bridgemark/experiment/grid_claims.h"
#include "bridgemark/experiment/grid_folder.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/experiment/slurm.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"

namespace bridgemark {

namespace {

using nlohmann::json;

constexpr char kArrayFile[] = "array.json", kListFile[] = "runs.jsonl";
constexpr auto kWaitInterval = std::chrono::milliseconds(50);
constexpr double kQueueOverviewSeconds = 0.5;
// Between looks at the queue, longer while nothing changes: a busy slurmctld serves everybody.
constexpr double kFirstLookSeconds = 1.0, kLongestLookSeconds = 15.0, kLookGrowth = 1.3;
constexpr double kLookShare = 0.1;       // of the time that may go into looking
constexpr double kResubmitSeconds = 10;  // between submissions while tasks are in the queue
// A task that has left the queue may have written its result to a file system that shows it late.
constexpr int kLooksUntilGone = 2;
constexpr std::size_t kShownTasks = 10;  // in the overview, of those that run

bool names(const std::string& option, std::string_view name) {
  return option == name || option.starts_with(std::string(name) + "=");
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

// Where a run was submitted to last.
struct Place {
  std::string job;  // empty: nowhere
  int task = 0;
  int array = 0;  // the folder slurm/N
};

struct OpenRun {
  const ExperimentRun* run;
  Place place = {};
  int attempts = 0;
  int looks_gone = 0;   // in which its task was not in the queue
  bool queued = false;  // in this call
};

class SlurmGrid {
 public:
  SlurmGrid(const Context& context, const Experiment& experiment,
            const std::filesystem::path& folder, const SlurmOptions& options)
      : context_(context),
        experiment_(experiment),
        folder_(experiment, std::filesystem::absolute(folder)),
        options_(options),
        runs_(select_runs(experiment.runs, options.only)) {}

  GridSummary run() {
    prepare();
    while (!open_.empty()) {
      look();
      submit_missing();
      if (seconds_since(saved_) >= results_interval_ && unsaved_) save_results();
      wait();
    }
    claims_->remove_settled([&](const std::string& id) { return done_.contains(id); });
    save_results();
    return {runs_.size(), skipped_, std::move(failed_), seconds_since(started_)};
  }

 private:
  std::filesystem::path array_folder(int array) const {
    return folder_.path() / "slurm" / std::to_string(array);
  }

  void prepare() {
    if (path_exists(folder_.record()) && !options_.resume) {
      throw_file(folder_.path().string(),
                 "already holds an experiment; give another folder or resume it");
    }
    max_array_size_ = slurm_.max_array_size();
    create_folder(folder_.path());
    lock_ = std::make_unique<FolderLock>(folder_.path(), FolderLock::Holders::kMany);
    create_folder(folder_.path() / "slurm");
    submitter_ = std::make_unique<FolderLock>(folder_.path() / "slurm");
    folder_.open(options_.resume);
    claims_ = std::make_unique<GridClaims>(folder_.path(), Shard{}, options_.stale_after);
    claims_->alone([&] { folder_.write_record(); });
    claims_->forget_failures();
    for (const ExperimentRun& run : runs_) {
      if (folder_.is_scored(run)) {
        remember(run);
        ++skipped_;
      } else {
        open_.push_back({.run = &run});
      }
    }
    find_earlier_arrays();
  }

  // What an earlier call has submitted and may still be in the queue.
  void find_earlier_arrays() {
    std::map<std::string, Place> places;
    for (; path_exists(array_folder(next_array_) / kListFile); ++next_array_) {
      const std::filesystem::path folder = array_folder(next_array_);
      if (!path_exists(folder / kArrayFile)) continue;  // nothing came of it
      const std::string where = (folder / kArrayFile).string();
      const json array = load_json(folder / kArrayFile);
      const std::string job = json_get<std::string>(array, "job", where);
      const int per_task = std::max(1, json_get<int>(array, "runs_per_task", where));
      jobs_.insert(job);
      int line = 0;
      for (const std::string& cell : read_lines(folder / kListFile, 0, SIZE_MAX)) {
        places[parse_cell(cell).id] = {job, line++ / per_task, next_array_};
      }
    }
    for (OpenRun& open : open_) {
      const auto found = places.find(open.run->id);
      if (found == places.end()) continue;
      open.place = found->second;
      open.looks_gone = kLooksUntilGone - 1;
    }
  }

  void look() {
    const auto started = Clock::now();
    const std::size_t before = open_.size();
    missed_ = false;
    if (!jobs_.empty()) {
      const auto tasks = slurm_.tasks(jobs_, problem_);
      if (tasks) {
        problem_.clear();
        tasks_.clear();
        for (const SlurmTask& task : *tasks) tasks_[{task.job, task.index}] = task;
      }
    }
    std::erase_if(open_, [&](OpenRun& open) { return is_settled(open); });
    look_seconds_ = open_.size() < before || missed_
                        ? kFirstLookSeconds
                        : std::min(kLongestLookSeconds, kLookGrowth * look_seconds_);
    look_seconds_ = std::max(look_seconds_, seconds_since(started) / kLookShare);
    looked_ = Clock::now();
  }

  // Done or failed for good; notes besides whether its task is gone.
  bool is_settled(OpenRun& open) {
    const auto found = tasks_.find({open.place.job, open.place.task});
    const bool known = found != tasks_.end();
    open.queued = open.queued || (known && found->second.alive());
    if (known && found->second.state == "PENDING") {
      open.looks_gone = 0;
      return false;
    }
    if (folder_.is_scored(*open.run)) {
      remember(*open.run);
      return true;
    }
    if (auto reason = claims_->failure(open.run->id)) {
      failed_.push_back({open.run->id, std::move(*reason)});
      return true;
    }
    if (open.place.job.empty() || !problem_.empty()) return false;
    if (known && found->second.state == "CANCELLED" && open.queued) {
      failed_.push_back({open.run->id, fmt::format("its task {}_{} was cancelled", open.place.job,
                                                   open.place.task)});
      return true;
    }
    open.looks_gone = known && found->second.alive() ? 0 : open.looks_gone + 1;
    missed_ = missed_ || open.looks_gone > 0;
    if (open.looks_gone < kLooksUntilGone) return false;
    if (open.attempts >= kSlurmAttempts) {
      failed_.push_back(
          {open.run->id,
           fmt::format("its task ended {} times without a result; see "
                       "{}/task-{}.txt",
                       open.attempts, array_folder(open.place.array).string(), open.place.task)});
      return true;
    }
    open.place = {};
    return false;
  }

  void submit_missing() {
    std::vector<OpenRun*> missing;
    for (OpenRun& open : open_) {
      if (open.place.job.empty()) missing.push_back(&open);
    }
    const bool others = missing.size() < open_.size();
    if (missing.empty() || (others && seconds_since(submitted_) < kResubmitSeconds)) return;
    const auto at_once = static_cast<std::size_t>(max_array_size_) *
                         static_cast<std::size_t>(options_.runs_per_task);
    for (std::size_t first = 0; first < missing.size(); first += at_once) {
      const std::size_t count = std::min(at_once, missing.size() - first);
      submitted_ = Clock::now();
      try {
        submit(std::span(missing).subspan(first, count));
      } catch (const Error& error) {
        // Limits on the jobs of a user: the rest goes once some have left the queue.
        if (!others && first == 0) throw;
        tell(fmt::format("{}; tried again later", error.what()));
        return;
      }
    }
  }

  void submit(std::span<OpenRun* const> cells) {
    const int array = next_array_++;
    const std::filesystem::path folder = array_folder(array);
    create_folder(folder);
    std::string list;
    for (const OpenRun* open : cells) list += cell_text(*open->run) + "\n";
    write_file_atomically(folder / kListFile, list);
    write_file_atomically(folder / "task.sh", script(folder));
    const auto per_task = static_cast<std::size_t>(options_.runs_per_task);
    const std::size_t tasks = (cells.size() + per_task - 1) / per_task;
    const std::string job = slurm_.submit(sbatch_arguments(folder, tasks));
    save_json(folder / kArrayFile, {{"job", job}, {"runs_per_task", options_.runs_per_task}});
    jobs_.insert(job);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i]->place = {job, static_cast<int>(i / per_task), array};
      ++cells[i]->attempts;
      cells[i]->looks_gone = 0;
      cells[i]->queued = true;
    }
    tell(fmt::format("job {}: {} {} in {} {}", job, cells.size(),
                     cells.size() == 1 ? "run" : "runs", tasks, tasks == 1 ? "task" : "tasks"));
  }

  std::string script(const std::filesystem::path& folder) const {
    const std::vector<std::string> words = {
        options_.program.string(),
        kPartCommand,
        folder_.path().string(),
        (folder / kListFile).string(),
        "--runs-per-task",
        std::to_string(options_.runs_per_task),
        "--jobs",
        std::to_string(options_.jobs),
        "--device",
        std::string(device_name(context_.device)),
        "--stale-after",
        fmt::format("{}", static_cast<double>(options_.stale_after.count()) / 1e3)};
    return "#!/bin/sh\nexec " + shell_words(words) +
           " --task \"$SLURM_ARRAY_TASK_ID\" --threads \"$SLURM_CPUS_PER_TASK\"\n";
  }

  std::vector<std::string> sbatch_arguments(const std::filesystem::path& folder,
                                            std::size_t tasks) const {
    std::vector<std::string> arguments = {
        fmt::format("--array=0-{}{}", tasks - 1,
                    options_.at_once > 0 ? fmt::format("%{}", options_.at_once) : ""),
        "--job-name=" + experiment_.name,
        fmt::format("--output={}/task-%a.txt", sbatch_text(folder.string())),
        "--open-mode=append",  // a task that Slurm starts again goes on in its file
        "--requeue",
        fmt::format("--cpus-per-task={}", std::max(1, context_.num_threads))};
    const bool asked = std::ranges::any_of(options_.sbatch, [](const std::string& option) {
      return option.starts_with("--gres") || option.starts_with("--gpus") ||
             option.starts_with("-G");
    });
    if (context_.device == Device::kCuda && !asked) arguments.push_back("--gres=gpu:1");
    arguments.insert(arguments.end(), options_.sbatch.begin(), options_.sbatch.end());
    arguments.push_back((folder / "task.sh").string());
    return arguments;
  }

  void remember(const ExperimentRun& run) {
    done_[run.id] = folder_.results(run);
    unsaved_ = true;
  }

  void save_results() {
    const auto started = Clock::now();
    claims_->alone([&] { folder_.write_results(done_); });
    saved_ = Clock::now();
    results_interval_ = seconds_until_results(seconds_since(started));
    unsaved_ = false;
  }

  void tell(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  // Until the next look at the queue.
  void wait() {
    while (!open_.empty() && seconds_since(looked_) < look_seconds_) {
      if (context_.should_stop()) stop();
      report();
      std::this_thread::sleep_for(kWaitInterval);
    }
  }

  [[noreturn]] void stop() {
    save_results();
    std::string jobs;
    for (const auto& [place, task] : tasks_) {
      if (task.alive() && jobs.find(" " + place.first) == jobs.npos) jobs += " " + place.first;
    }
    throw Interrupted(fmt::format(
        "no longer waiting, with {} of {} runs done; --slurm --resume waits again{}", done_.size(),
        runs_.size(), jobs.empty() ? "" : ", scancel" + jobs + " ends what is in the queue"));
  }

  void report() {
    if (!options_.overview || seconds_since(reported_) < kQueueOverviewSeconds) return;
    reported_ = Clock::now();
    Overview overview;
    overview.total = runs_.size();
    overview.done = done_.size();
    overview.skipped = skipped_;
    overview.failed = failed_.size();
    for (const OpenRun& open : open_) {
      const auto found = tasks_.find({open.place.job, open.place.task});
      if (found == tasks_.end() || found->second.state != "RUNNING") continue;
      if (overview.active.size() == kShownTasks) {
        ++overview.more_active;
        continue;
      }
      const auto since = running_since_.emplace(open.run->id, Clock::now()).first->second;
      const bool trained = is_complete_run(folder_.run_folder(*open.run));
      overview.active.push_back({open.run->id, trained ? "evaluate" : "train", seconds_since(since),
                                 folder_.last_log_line(*open.run)});
    }
    const std::size_t made = done_.size() - skipped_;
    if (made > 0) {
      overview.seconds_left =
          seconds_since(started_) / static_cast<double>(made) * static_cast<double>(open_.size());
    }
    overview.queue = queue_text();
    options_.overview(overview);
  }

  // "Slurm: 2 running, 126 pending (Resources)"
  std::string queue_text() const {
    std::map<std::string, std::size_t> states;
    for (const auto& [place, task] : tasks_) {
      if (!task.alive()) continue;
      std::string state = task.state;
      std::ranges::transform(state, state.begin(), [](unsigned char c) { return std::tolower(c); });
      const bool waits = task.state == "PENDING" && !task.reason.empty() && task.reason != "None";
      ++states[waits ? fmt::format("{} ({})", state, task.reason) : state];
    }
    std::string text;
    for (const auto& [state, count] : states) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
    }
    if (text.empty()) text = "nothing in the queue";
    if (!problem_.empty()) text += fmt::format(", as it was last: {}", problem_);
    return "Slurm: " + text;
  }

  const Context& context_;
  const Experiment& experiment_;
  const GridFolder folder_;
  const SlurmOptions& options_;
  const std::vector<ExperimentRun> runs_;
  const Slurm slurm_;
  int max_array_size_ = 1;
  std::unique_ptr<FolderLock> lock_, submitter_;  // beside workers; alone in submitting
  std::unique_ptr<GridClaims> claims_;
  std::vector<OpenRun> open_;
  std::map<std::string, std::vector<RunResult>> done_;
  std::vector<FailedRun> failed_;
  std::set<std::string> jobs_;
  std::map<std::pair<std::string, int>, SlurmTask> tasks_;  // as squeue showed them last
  std::map<std::string, Clock::time_point> running_since_;  // by the run's id
  std::string problem_;                                     // why squeue did not answer
  int next_array_ = 1;
  std::size_t skipped_ = 0;
  bool unsaved_ = false;
  bool missed_ = false;  // a task is gone, as the last look showed
  double look_seconds_ = kFirstLookSeconds, results_interval_ = seconds_until_results(0.0);
  const Clock::time_point started_ = Clock::now();
  Clock::time_point saved_ = Clock::now(), looked_ = Clock::now();
  Clock::time_point submitted_{}, reported_{};  // long ago
};

}  // namespace

GridSummary run_on_slurm(const Context& context, const Experiment& experiment,
                         const std::filesystem::path& folder, const SlurmOptions& options) {
  check_sbatch_options(options.sbatch);
  return SlurmGrid(context, experiment, folder, options).run();
}

GridSummary run_part(const Context& context, const std::filesystem::path& folder,
                     const std::filesystem::path& list, int task, int runs_per_task,
                     const GridOptions& options) {
  const auto per_task = static_cast<std::size_t>(runs_per_task);
  Experiment part;
  for (const std::string& line :
       read_lines(list, static_cast<std::size_t>(task) * per_task, per_task)) {
    part.runs.push_back(parse_cell(line));
  }
  if (part.runs.empty()) throw_file(list.string(), "has no runs for task {}", task);
  GridOptions of_part = options;
  of_part.shard = Shard{};
  // A worker that has died is noticed in this time; another one is left to it.
  of_part.part_patience = 2 * options.stale_after;
  return run_grid(context, part, folder, of_part);
}

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

}  // namespace bridgemark
