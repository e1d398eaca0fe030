#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bridgemark {

// Memory that new work may take, in bytes: the kernel's estimate.
std::uint64_t available_memory_bytes();

// Throws InvalidArgument that says what to lower where the work that comes would need more than is
// free: better now than by the kernel's killer in the middle of it.
void require_memory(double bytes, std::string_view what, std::string_view lower);

// The same for arrays of int32 states [rows,dim] that are about to be made.
void require_states_memory(std::size_t rows, std::size_t dim, int arrays = 1);

// What a process holds now, in bytes; 0 where it has ended.
std::uint64_t resident_memory_bytes(pid_t process);

}  // namespace bridgemark
