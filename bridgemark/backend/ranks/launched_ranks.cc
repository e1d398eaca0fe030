#include "bridgemark/backend/ranks/launched_ranks.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace bridgemark::backend {

namespace {

// The number in a variable of the environment; 0 where there is none.
int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  const std::string_view digits(text);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number > 0 ? number : 0;
}

// The variables that a launcher sets.
struct Launcher {
  const char* count;
  const char* rank;
};
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},  // Open MPI's mpirun
    {"PMI_SIZE", "PMI_RANK"},                          // MPICH's and Intel's, srun --mpi=pmi2
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},    // MVAPICH's
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"},             // srun --mpi=pmix
};

}  // namespace

int launched_ranks() {
  for (const Launcher& launcher : kLaunchers) {
    if (const int count = number_in(launcher.count); count > 0 && std::getenv(launcher.rank)) {
      return count;
    }
  }
  return 1;
}

int launched_rank() {
  for (const Launcher& launcher : kLaunchers) {
    if (number_in(launcher.count) > 0 && std::getenv(launcher.rank)) {
      return number_in(launcher.rank);
    }
  }
  return 0;
}

}  // namespace bridgemark::backend
