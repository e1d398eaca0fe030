#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Records as TensorFlow frames them in a file: the length of the bytes as 8 bytes, its masked
// checksum, the bytes, their masked checksum; all numbers little-endian.
namespace bridgemark {

// The cyclic redundancy check with Castagnoli's polynomial, as iSCSI has it (RFC 3720).
std::uint32_t crc32c(std::string_view bytes);

// The checksum as a record holds it: turned by 15 bits and shifted, so that the checksum of bytes
// that hold checksums stays a good one.
std::uint32_t masked_crc32c(std::string_view bytes);

// The record of these bytes.
std::string tf_record(std::string_view bytes);

}  // namespace bridgemark
