#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "bridgemark/core/context.h"

namespace bridgemark::python {

// A context whose long work notices Ctrl-C: it then throws KeyboardInterrupt as nanobind's
// python_error. Only Python's main thread is told of signals.
Context interruptible_context();

// Runs `work` while other Python threads go on. It must not touch Python objects.
template <typename Work>
auto without_gil(Work&& work) {
  const nanobind::gil_scoped_release release;
  return std::forward<Work>(work)();
}

}  // namespace bridgemark::python
