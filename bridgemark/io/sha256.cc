#include "bridgemark/io/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "bridgemark/io/disk/input_file.h"

namespace bridgemark {

namespace {

constexpr std::size_t kBlock = 64;

constexpr std::array<std::uint32_t, kBlock> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

}  // namespace

void Sha256::add(std::string_view bytes) {
  num_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t taken = std::min(kBlock - num_pending_, bytes.size());
    std::copy_n(bytes.data(), taken, pending_.data() + num_pending_);
    bytes.remove_prefix(taken);
    num_pending_ += taken;
    if (num_pending_ == kBlock) {
      add_block(pending_.data());
      num_pending_ = 0;
    }
  }
}

Sha256::Digest Sha256::finish() {
  const std::uint64_t bits = num_bytes_ * 8;
  // A one, zeros, and the number of bits in the last eight bytes of a block.
  std::string end(1, '\x80');
  end.resize(1 + (2 * kBlock - 9 - num_pending_) % kBlock, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) end.push_back(static_cast<char>(bits >> shift));
  add(end);
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

void Sha256::add_block(const unsigned char* block) {
  std::array<std::uint32_t, kBlock> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < kBlock; ++i) {
    const std::uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::uint32_t sums[] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += sums[i];
}

namespace {

std::string hex_digits(const Sha256::Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

std::string text_sha256(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hex_digits(hash.finish());
}

std::string file_sha256(const std::filesystem::path& path) {
  const InputFile file(path);
  Sha256 hash;
  std::vector<char> chunk(std::size_t{1} << 20);
  for (std::uint64_t offset = 0;;) {
    const std::size_t got = file.read_some(offset, chunk.data(), chunk.size());
    if (got == 0) break;
    hash.add({chunk.data(), got});
    offset += got;
  }
  return hex_digits(hash.finish());
}

std::string base64_sha256(std::string_view text) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Sha256 hash;
  hash.add(text);
  const Sha256::Digest digest = hash.finish();
  std::string out;
  for (std::size_t i = 0; i < digest.size(); i += 3) {
    const auto byte = [&](std::size_t j) { return j < digest.size() ? digest[j] : 0u; };
    const std::uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int shift = 18; shift >= 0; shift -= 6) out.push_back(kDigits[bits >> shift & 63]);
  }
  out.back() = '=';  // 32 bytes are 42 digits and a part of one
  return out;
}

}  // namespace bridgemark
