#include "bridgemark/pair/pair_folder.h"

#include <nlohmann/json.hpp>

#include "bridgemark/pair/pair_record.h"
#include "tests/fuzz/fuzz.h"

// A pair folder: config.json and model.safetensors.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::vector<std::string_view> files = split(bytes, 2);
  put("config.json", files[0]);
  put("model.safetensors", files[1]);
  const BenchmarkPair pair = read_pair_folder(folder());
  pair_record(pair);
  if (pair.dim() * static_cast<std::size_t>(pair.num_categories()) < 100) {
    pair.sample_joint({.num_threads = 1}, 2, 1);
  }
}
