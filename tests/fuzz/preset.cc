#include "bridgemark/core/context.h"
#include "bridgemark/pair/pair_family.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"
#include "tests/fuzz/fuzz.h"

// Names: of presets and pair folders, families, solvers, devices. A preset is built where it is
// small.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::string name(bytes);
  attempt([&] { parse_pair_family(name); });
  attempt([&] { parse_device(name); });
  attempt([&] { find_solver(name); });
  const std::optional<PairSpec> preset = find_preset(name);
  if (!preset) load_pair(name);
}
