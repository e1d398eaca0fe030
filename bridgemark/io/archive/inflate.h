#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bridgemark {

// The bytes that a stream of the DEFLATE format (RFC 1951) stands for, which must be `size` in
// number. Throws FileError, which calls the stream `name`, for anything else.
std::string inflate(std::string_view stream, std::size_t size, std::string_view name);

}  // namespace bridgemark
