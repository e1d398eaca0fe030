#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bridgemark {

// A task of a job array as squeue shows it.
struct SlurmTask {
  std::string job;
  int index = 0;
  std::string state;   // "PENDING", "RUNNING", ...
  std::string reason;  // why it waits

  // Whether Slurm may still run it.
  bool alive() const;
};

// The numbers of a job array as squeue writes them: "7", "0-3,9", "0-63:2%4"; empty where the text
// is none.
std::vector<int> parse_array_indices(const std::string& text);

// Slurm by its commands, which must be in the search path.
class Slurm {
 public:
  // The most tasks of one array. Throws Error where scontrol does not say.
  int max_array_size() const;

  // Calls sbatch; the number of the job. Throws Error with what it said.
  std::string submit(const std::vector<std::string>& arguments) const;

  // Tasks of these jobs, those included that ended a short while ago; empty where squeue does not
  // answer, with the reason in `problem`.
  std::optional<std::vector<SlurmTask>> tasks(const std::set<std::string>& jobs,
                                              std::string& problem) const;
};

// Job arrays that were submitted, with their tasks as squeue showed them last.
class SlurmJobs {
 public:
  void add(const std::string& job) { jobs_.insert(job); }

  void look(const Slurm& slurm);
  bool answered() const { return problem_.empty(); }  // as squeue did at the last look

  const SlurmTask* find(const std::string& job,
                        int task) const;   // null where it is not in the queue
  std::vector<std::string> alive() const;  // jobs with a task that may run
  // "Slurm: 2 running, 126 pending (Resources)"
  std::string text() const;

 private:
  std::set<std::string> jobs_;
  std::map<std::pair<std::string, int>, SlurmTask> tasks_;
  std::string problem_;  // why squeue did not answer
};

}  // namespace bridgemark
