#pragma once

#include <cstdint>
#include <string>

namespace bridgemark {

// The most memory this process has held so far, in bytes.
std::uint64_t peak_memory_bytes();

// The processor and its number of cores, in words, for the record of a result.
std::string machine_description();

}  // namespace bridgemark
