#pragma once

#include <sys/types.h>

#include <cstdint>

namespace bridgemark {

// Memory that new work may take, in bytes: the kernel's estimate.
std::uint64_t available_memory_bytes();

// What a process holds now, in bytes; 0 where it has ended.
std::uint64_t resident_memory_bytes(pid_t process);

}  // namespace bridgemark
