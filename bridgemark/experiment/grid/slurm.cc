#include "bridgemark/experiment/grid/slurm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>
#include <string_view>

#include "bridgemark/core/error.h"
#include "bridgemark/io/program/ask_program.h"

namespace bridgemark {

namespace {

constexpr int kLargestIndex = 1 << 22;  // Slurm's own limit on MaxArraySize
constexpr const char* kEndedStates[] = {"BOOT_FAIL",     "CANCELLED", "COMPLETED", "DEADLINE",
                                        "FAILED",        "NODE_FAIL", "PREEMPTED", "REVOKED",
                                        "OUT_OF_MEMORY", "TIMEOUT"};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < 0 || value > kLargestIndex) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

bool SlurmTask::alive() const {
  return std::ranges::find(kEndedStates, state) == std::end(kEndedStates);
}

std::vector<int> parse_array_indices(const std::string& text) {
  std::vector<int> indices;
  for (std::string part : split(text.substr(0, text.find('%')), ',')) {
    int step = 1;
    if (const std::size_t colon = part.find(':'); colon != part.npos) {
      const auto every = number(std::string_view(part).substr(colon + 1));
      if (!every || *every == 0) return {};
      step = *every;
      part.resize(colon);
    }
    const std::size_t dash = part.find('-');
    const auto first = number(std::string_view(part).substr(0, dash));
    const auto last = dash == part.npos ? first : number(std::string_view(part).substr(dash + 1));
    if (!first || !last) return {};
    for (int i = *first; i <= *last; i += step) indices.push_back(i);
  }
  return indices;
}

int Slurm::max_array_size() const {
  const ProgramAnswer answer = ask_program({"scontrol", "show", "config"});
  if (answer.status != 0) {
    throw Error(fmt::format("[run] scontrol does not answer: {}", answer.complaint));
  }
  for (const std::string& line : split(answer.out, '\n')) {
    if (!line.starts_with("MaxArraySize")) continue;
    const std::size_t start = line.find_first_of("0123456789");
    const auto size =
        start == line.npos ? std::nullopt : number(std::string_view(line).substr(start));
    if (size && *size > 0) return *size;
  }
  throw Error("[run] this Slurm takes no job arrays: scontrol names no MaxArraySize");
}

std::string Slurm::submit(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {"sbatch", "--parsable"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const ProgramAnswer answer = ask_program(command);
  if (answer.status != 0) {
    throw Error(fmt::format("[run] sbatch refused: {}", answer.complaint));
  }
  // "JOB" or "JOB;CLUSTER", after what a site's plugin may print.
  const std::string line = last_line(answer.out);
  const std::string job = line.substr(0, line.find(';'));
  if (job.empty() || job.find_first_not_of("0123456789") != job.npos) {
    throw Error(fmt::format("[run] sbatch printed '{}' in place of a job's number", line));
  }
  return job;
}

std::optional<std::vector<SlurmTask>> Slurm::tasks(const std::set<std::string>& jobs,
                                                   std::string& problem) const {
  // By user, since squeue refuses to be asked for a job that it has forgotten.
  const ProgramAnswer answer =
      ask_program({"squeue", "--noheader", "--array", "--states=all",
                   fmt::format("--user={}", ::getuid()), "--format=%F|%K|%T|%r"});
  if (answer.status != 0) {
    problem = answer.complaint;
    return std::nullopt;
  }
  std::vector<SlurmTask> tasks;
  for (const std::string& line : split(answer.out, '\n')) {
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() < 3 || !jobs.contains(fields[0])) continue;
    for (const int index : parse_array_indices(fields[1])) {
      tasks.push_back({fields[0], index, fields[2], fields.size() > 3 ? fields[3] : ""});
    }
  }
  return tasks;
}

void SlurmJobs::look(const Slurm& slurm) {
  if (jobs_.empty()) return;
  const auto tasks = slurm.tasks(jobs_, problem_);
  if (!tasks) return;
  problem_.clear();
  tasks_.clear();
  for (const SlurmTask& task : *tasks) tasks_[{task.job, task.index}] = task;
}

const SlurmTask* SlurmJobs::find(const std::string& job, int task) const {
  const auto found = tasks_.find({job, task});
  return found == tasks_.end() ? nullptr : &found->second;
}

std::vector<std::string> SlurmJobs::alive() const {
  std::vector<std::string> jobs;
  for (const auto& [key, task] : tasks_) {
    const bool is_new = jobs.empty() || jobs.back() != task.job;  // tasks_ is in the order of jobs
    if (task.alive() && is_new) jobs.push_back(task.job);
  }
  return jobs;
}

std::string SlurmJobs::text() const {
  std::map<std::string, std::size_t> states;
  for (const auto& [key, task] : tasks_) {
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

}  // namespace bridgemark
