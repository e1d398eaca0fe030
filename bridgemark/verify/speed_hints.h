#pragma once

#include <string>
#include <vector>

#include "bridgemark/core/resources.h"

// What makes a machine slower than it has to be, and what to do about it.
namespace bridgemark {

struct SpeedFacts {
  int cores = 0;              // that this process may run on; 0: not known
  double processors = 0.0;    // that a container's quota gives it at a time; 0: no quota
  int threads = 1;            // by default
  double load = 0.0;          // processes that ran or wanted to, over the last minute
  bool waits_asleep = false;  // whether threads that wait for each other sleep
  std::string vectors;        // the processor's sets of vector instructions
  std::string products;       // the library of matrix products, with the kernels that it chose
};

// With what a backend says of its device (Backend::facts).
SpeedFacts examine_speed(const Facts& cpu);

// A line each, none where nothing of this is so.
std::vector<std::string> speed_hints(const SpeedFacts& facts);

}  // namespace bridgemark
