#include "bridgemark/io/npy.h"

#include "tests/fuzz/fuzz.h"

// Arrays of somebody's NumPy: states, trajectories, matrices.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::filesystem::path path = put("x.npy", bytes);
  attempt([&] { load_states(path); });
  attempt([&] { load_states3(path); });
  load_npy(path).to_doubles();
}
