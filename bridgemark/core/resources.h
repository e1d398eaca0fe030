#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bridgemark {

// The most memory this process has held so far, in bytes.
std::uint64_t peak_memory_bytes();

// What there is to say of a machine or of a device: names and values in words.
using Facts = std::vector<std::pair<std::string, std::string>>;

// The machine's memory, in bytes; 0 where it is not known.
std::uint64_t total_memory_bytes();

// The processor and its number of cores, in words, for the record of a result.
std::string machine_description();

}  // namespace bridgemark
