#include "bridgemark/io/dtype.h"

#include <array>
#include <bit>

namespace bridgemark {

// Array files are little-endian, and elements are copied without swapping.
static_assert(std::endian::native == std::endian::little);

namespace {

struct Row {
  std::string_view name;
  std::string_view descr;
  std::size_t size;
  bool floating;
};

// In the order of the enumeration.
constexpr std::array<Row, kNumDTypes> kRows{{
    {"BOOL", "|b1", 1, false},
    {"U8", "|u1", 1, false},
    {"I8", "|i1", 1, false},
    {"I16", "<i2", 2, false},
    {"U16", "<u2", 2, false},
    {"I32", "<i4", 4, false},
    {"U32", "<u4", 4, false},
    {"I64", "<i8", 8, false},
    {"U64", "<u8", 8, false},
    {"F16", "<f2", 2, true},
    {"BF16", "", 2, true},
    {"F32", "<f4", 4, true},
    {"F64", "<f8", 8, true},
}};

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

std::optional<DType> find(std::string_view Row::*field, std::string_view text) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (!text.empty() && kRows[i].*field == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace

std::size_t dtype_size(DType dtype) { return row(dtype).size; }

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) { return find(&Row::name, name); }

std::string_view npy_descr(DType dtype) { return row(dtype).descr; }

std::optional<DType> parse_npy_descr(std::string_view descr) { return find(&Row::descr, descr); }

bool is_floating(DType dtype) { return row(dtype).floating; }

}  // namespace bridgemark
