#include "bridgemark/io/fingerprint.h"

#include <fmt/format.h>

#include <bit>
#include <vector>

#include "bridgemark/io/disk/input_file.h"

namespace bridgemark {

void Fingerprint::add(std::uint64_t bits) {
  for (int shift = 0; shift < 64; shift += 8) add_byte((bits >> shift) & 0xff);
}

void Fingerprint::add(std::span<const double> values) {
  for (const double value : values) add(std::bit_cast<std::uint64_t>(value));
}

void Fingerprint::add(std::span<const std::int32_t> values) {
  for (const std::int32_t value : values) add(static_cast<std::uint64_t>(value));
}

void Fingerprint::add_bytes(std::string_view bytes) {
  for (const char byte : bytes) add_byte(static_cast<unsigned char>(byte));
}

std::string Fingerprint::text() const { return fmt::format("{:016x}", hash_); }

std::string file_fingerprint(const std::filesystem::path& path) {
  const InputFile file(path);
  Fingerprint fingerprint;
  std::vector<char> chunk(std::size_t{1} << 20);
  for (std::uint64_t offset = 0;;) {
    const std::size_t got = file.read_some(offset, chunk.data(), chunk.size());
    if (got == 0) return fingerprint.text();
    fingerprint.add_bytes({chunk.data(), got});
    offset += got;
  }
}

}  // namespace bridgemark
