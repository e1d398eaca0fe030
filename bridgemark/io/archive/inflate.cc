#include "bridgemark/io/archive/inflate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

constexpr int kMostCodeBits = 15;

// A length or a distance: this much and so many further bits.
struct Range {
  unsigned base, extra_bits;
};

// Lengths of symbols 257.. and distances of symbols 0..: four ranges share a number of extra bits
// in the first, two in the second.
std::vector<Range> ranges(unsigned first, unsigned plain, unsigned sharing, unsigned count) {
  std::vector<Range> made;
  unsigned base = first;
  for (unsigned symbol = 0; symbol < count; ++symbol) {
    const unsigned bits = symbol < plain ? 0 : (symbol - plain) / sharing + 1;
    made.push_back({base, bits});
    base += 1u << bits;
  }
  return made;
}

std::vector<Range> length_ranges() {
  std::vector<Range> made = ranges(3, 8, 4, 28);
  made.push_back({258, 0});
  return made;
}

class Inflation {
 public:
  Inflation(std::string_view stream, std::size_t size, std::string_view name)
      : stream_(stream), size_(size), name_(name) {}

  std::string run() {
    for (bool is_last = false; !is_last;) {
      is_last = bits(1) == 1;
      switch (bits(2)) {
        case 0:
          copy_stored();
          break;
        case 1:
          expand(fixed_codes());
          break;
        case 2:
          expand(read_codes());
          break;
        default:
          fail("a block of an unknown kind");
      }
    }
    if (out_.size() != size_) fail("fewer bytes than its header says");
    return std::move(out_);
  }

 private:
  // A prefix code: the symbols in the order of their codes, and how many codes have each length.
  struct Code {
    std::array<unsigned, kMostCodeBits + 1> count{};
    std::vector<unsigned> symbols;
  };

  struct Codes {
    Code literals, distances;
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw_file(name_, "its compressed bytes are broken: {}", what);
  }

  unsigned bits(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i, ++bit_) {
      const std::size_t byte = bit_ / 8;
      if (byte >= stream_.size()) fail("they end too early");
      value |= (static_cast<unsigned char>(stream_[byte]) >> bit_ % 8 & 1u) << i;
    }
    return value;
  }

  void put(char byte) {
    if (out_.size() == size_) fail("more bytes than its header says");
    out_.push_back(byte);
  }

  void copy_stored() {
    bit_ = (bit_ + 7) / 8 * 8;
    const unsigned length = bits(16);
    if (bits(16) != (~length & 0xffffu)) fail("the length of a stored block");
    for (unsigned i = 0; i < length; ++i) put(static_cast<char>(bits(8)));
  }

  // A code by the lengths of its symbols, 0 for those that have none.
  Code make_code(std::span<const unsigned char> lengths) const {
    Code code;
    for (const unsigned char length : lengths) code.count[length] += length > 0 ? 1 : 0;
    int unused = 1;  // codes of the length at hand that no symbol has
    for (int length = 1; length <= kMostCodeBits; ++length) {
      unused = 2 * unused - static_cast<int>(code.count[static_cast<std::size_t>(length)]);
      if (unused < 0) fail("a code with too many symbols");
      for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
        if (lengths[symbol] == length) code.symbols.push_back(symbol);
      }
    }
    return code;
  }

  // Codes of one length are consecutive numbers, the first of which is twice what follows the last
  // of the length before.
  unsigned decode(const Code& code) {
    unsigned value = 0, first = 0, at = 0;
    for (std::size_t length = 1; length <= kMostCodeBits; ++length) {
      value = value << 1 | bits(1);
      const unsigned count = code.count[length];
      if (value - first < count) return code.symbols[at + value - first];
      at += count;
      first = (first + count) << 1;
    }
    fail("a code that no symbol has");
  }

  Codes fixed_codes() const {
    std::array<unsigned char, 288> literals;
    for (std::size_t i = 0; i < literals.size(); ++i) {
      literals[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    }
    std::array<unsigned char, 30> distances;
    distances.fill(5);
    return {make_code(literals), make_code(distances)};
  }

  Codes read_codes() {
    constexpr unsigned char kOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                        11, 4,  12, 3, 13, 2, 14, 1, 15};
    const unsigned literals = bits(5) + 257, distances = bits(5) + 1, coded = bits(4) + 4;
    std::array<unsigned char, std::size(kOrder)> of_lengths{};
    for (unsigned i = 0; i < coded; ++i)
      of_lengths[kOrder[i]] = static_cast<unsigned char>(bits(3));
    const Code code = make_code(of_lengths);
    std::vector<unsigned char> lengths;
    while (lengths.size() < literals + distances) {
      const unsigned symbol = decode(code);
      if (symbol < 16) {
        lengths.push_back(static_cast<unsigned char>(symbol));
        continue;
      }
      if (symbol == 16 && lengths.empty()) fail("a repeated length without one before");
      const unsigned char repeated = symbol == 16 ? lengths.back() : 0;
      const unsigned times = symbol == 16 ? 3 + bits(2) : symbol == 17 ? 3 + bits(3) : 11 + bits(7);
      lengths.insert(lengths.end(), times, repeated);
    }
    if (lengths.size() > literals + distances) fail("more lengths than symbols");
    const std::span<const unsigned char> all(lengths);
    return {make_code(all.first(literals)), make_code(all.subspan(literals))};
  }

  void expand(const Codes& codes) {
    constexpr unsigned kEnd = 256;
    for (;;) {
      const unsigned symbol = decode(codes.literals);
      if (symbol == kEnd) return;
      if (symbol < kEnd) {
        put(static_cast<char>(symbol));
        continue;
      }
      const unsigned length = number(lengths_, symbol - kEnd - 1);
      const unsigned distance = number(distances_, decode(codes.distances));
      if (distance > out_.size()) fail("a distance before the first byte");
      for (unsigned i = 0; i < length; ++i) put(out_[out_.size() - distance]);
    }
  }

  unsigned number(const std::vector<Range>& ranges, unsigned symbol) {
    if (symbol >= ranges.size()) fail("a symbol that stands for nothing");
    return ranges[symbol].base + bits(ranges[symbol].extra_bits);
  }

  std::string_view stream_;
  std::size_t size_;
  std::string_view name_;
  std::size_t bit_ = 0;
  std::string out_;
  std::vector<Range> lengths_ = length_ranges(), distances_ = ranges(1, 4, 2, 30);
};

}  // namespace

std::string inflate(std::string_view stream, std::size_t size, std::string_view name) {
  return Inflation(stream, size, name).run();
}

}  // namespace bridgemark
