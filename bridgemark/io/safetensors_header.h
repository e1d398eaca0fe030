#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/io/dtype.h"

namespace bridgemark {

// The header of a safetensors file:
// {"__metadata__": {"k": "v"}, "x": {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]}}
struct SafetensorsHeader {
  struct Tensor {
    DType dtype = DType::kF64;
    std::vector<std::size_t> shape;
    std::size_t count = 0;
    std::uint64_t begin = 0;  // bytes from the start of the payload
    std::uint64_t end = 0;
  };

  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor, std::less<>> tensors;
};

// Throws FileError unless the text follows the format to the letter and its tensors tile the
// payload: all within it, no overlap, no hole. Work and memory are linear in the text.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t payload_bytes,
                                           std::string_view file);

}  // namespace bridgemark
