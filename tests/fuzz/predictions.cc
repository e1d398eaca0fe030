#include "bridgemark/metric/prediction_files.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_pair.h"

// The answers of an outside solver: a folder of two arrays, and two more that may be missing.
void bridgemark::fuzz::read(std::string_view bytes) {
  constexpr const char* kNames[] = {"pred_x1.npy", "pred_conditional_x1.npy",
                                    "pred_log_marginals.npy", "pred_log_conditional.npy"};
  const std::vector<std::string_view> files = split(bytes, 4);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i < 2 || !files[i].empty()) {
      put(kNames[i], files[i]);
    } else {
      std::filesystem::remove(folder() / kNames[i]);
    }
  }
  load_predictions({.num_threads = 1}, tiny_pair(), folder(), 2);
}
