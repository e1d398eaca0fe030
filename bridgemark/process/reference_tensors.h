#pragma once

#include <string>

#include "bridgemark/io/safetensors.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// The numbers of a record that a reference is read with: all of some kinds.
struct ReferenceNumbers {
  std::string kind;  // reference_kind_name
  int num_categories;
  double gamma;  // not read for a matrix
  int total_steps;
};

// What else a process was made from, as tensors: factors of low rank as reference_u and
// reference_v [S,r], weights of a graph as graph_first [S+1], graph_to and graph_weight [entries],
// the matrix of from_matrix as reference_matrix [S,S]. The process must outlive the writer.
void add_reference_tensors(SafetensorsWriter& writer, const ReferenceProcess& process);

// The process again. Throws FileError for an unknown kind, which it calls `name`, and for tensors
// of other shapes.
ReferenceProcess read_reference(const ReferenceNumbers& numbers, const SafetensorsFile& tensors,
                                const std::string& path, const std::string& name);

}  // namespace bridgemark
