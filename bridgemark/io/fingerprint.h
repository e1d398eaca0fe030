#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace bridgemark {

// 64 bits that change with what was added, by FNV-1a: they tell two things apart that were mixed up
// by accident, not by somebody who means to. Little-endian on every machine.
class Fingerprint {
 public:
  void add(std::uint64_t bits);
  void add(std::span<const double> values);
  void add(std::span<const std::int32_t> values);
  void add_bytes(std::string_view bytes);

  std::string text() const;  // 16 hexadecimal digits

 private:
  void add_byte(std::uint64_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3u; }

  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

// Of all bytes of a file. Throws FileError where it cannot be read.
std::string file_fingerprint(const std::filesystem::path& path);

}  // namespace bridgemark
