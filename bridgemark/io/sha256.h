#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace bridgemark {

// SHA-256 (FIPS 180-4): for what somebody may mean to forge, where a Fingerprint does not do.
class Sha256 {
 public:
  using Digest = std::array<unsigned char, 32>;

  void add(std::string_view bytes);
  Digest finish();  // call it once, after all bytes

 private:
  void add_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_ = {};
  std::size_t num_pending_ = 0;
  std::uint64_t num_bytes_ = 0;
};

// 64 hexadecimal digits, as sha256sum prints them, of a text and of a file. Throws FileError where
// the file cannot be read.
std::string text_sha256(std::string_view text);
std::string file_sha256(const std::filesystem::path& path);

// The digest of a text in base64, as a content security policy names a script.
std::string base64_sha256(std::string_view text);

}  // namespace bridgemark
