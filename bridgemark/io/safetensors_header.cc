#include "bridgemark/io/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/shape.h"

namespace bridgemark {

namespace {

using nlohmann::json;

// A state machine over the parser's events, so that text which breaks the schema is refused where
// it does, before a tree of it is built.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  HeaderReader(std::uint64_t payload_bytes, std::string_view file)
      : payload_bytes_(payload_bytes), file_(file) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  // Called for a number with a minus sign only.
  bool number_integer(number_integer_t value) override { unexpected(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) override { unexpected(printable(text)); }
  bool binary(binary_t&) override { unexpected("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::kShape && shape_->size() < kMaxRank) {
      shape_->push_back(value);
    } else if (state_ == State::kOffsets && offsets_->size() < 2) {
      offsets_->push_back(value);
    } else {
      unexpected(fmt::format("{}", value));
    }
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::kMetadata) {
      header_.metadata[field_] = std::move(value);
    } else if (state_ == State::kTensor && field_ == "dtype" && !dtype_) {
      dtype_ = parse_dtype(value);
      if (!dtype_) {
        throw_file(file_, "tensor '{}' has unsupported dtype '{}'", printable(name_),
                   printable(value));
      }
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kTop && name_ == "__metadata__") {
      state_ = State::kMetadata;
    } else if (state_ == State::kTop) {
      state_ = State::kTensor;
      dtype_.reset();
      shape_.reset();
      offsets_.reset();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(string_t& key) override {
    if (state_ == State::kTop) {
      name_ = std::move(key);
      const bool seen = name_ == "__metadata__" ? std::exchange(metadata_seen_, true)
                                                : header_.tensors.contains(name_);
      if (seen) throw_file(file_, "header has '{}' twice", printable(name_));
      return true;
    }
    field_ = std::move(key);
    if (state_ == State::kMetadata && header_.metadata.contains(field_)) {
      throw_file(file_, "metadata has '{}' twice", printable(field_));
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTensor) finish_tensor();
    state_ = State::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::kTensor && field_ == "shape" && !shape_) {
      state_ = State::kShape;
      shape_.emplace();
    } else if (state_ == State::kTensor && field_ == "data_offsets" && !offsets_) {
      state_ = State::kOffsets;
      offsets_.emplace();
    } else {
      unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    state_ = State::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    throw_file(file_, "header is not JSON at byte {}", position);
  }

 private:
  enum class State { kStart, kTop, kMetadata, kTensor, kShape, kOffsets };

  [[noreturn]] void unexpected(std::string_view found) const {
    switch (state_) {
      case State::kStart:
        throw_file(file_, "header must be an object, got {}", found);
      case State::kTop:
        throw_file(file_, "header: '{}' must be an object, got {}", printable(name_), found);
      case State::kMetadata:
        throw_file(file_, "metadata '{}' must be a string, got {}", printable(field_), found);
      case State::kTensor:
        throw_file(file_,
                   "tensor '{}' must have dtype (a string), shape and data_offsets (arrays), once "
                   "each, got {} for '{}'",
                   printable(name_), found, printable(field_));
      case State::kShape:
        throw_file(file_, "shape of tensor '{}' must be at most {} non-negative integers, got {}",
                   printable(name_), kMaxRank, found);
      case State::kOffsets:
        break;
    }
    throw_file(file_, "data_offsets of tensor '{}' must be 2 non-negative integers, got {}",
               printable(name_), found);
  }

  void finish_tensor() {
    const std::string name = printable(name_);
    if (!dtype_) throw_file(file_, "tensor '{}' has no dtype", name);
    if (!shape_) throw_file(file_, "tensor '{}' has no shape", name);
    if (!offsets_ || offsets_->size() != 2) {
      throw_file(file_, "tensor '{}' must have data_offsets [begin, end]", name);
    }
    const std::uint64_t begin = (*offsets_)[0];
    const std::uint64_t end = (*offsets_)[1];
    if (begin > end || end > payload_bytes_) {
      throw_file(file_, "tensor '{}' has data_offsets [{}, {}], outside the {} bytes of data", name,
                 begin, end, payload_bytes_);
    }
    const std::optional<std::size_t> count = element_count(*shape_, dtype_size(*dtype_));
    if (!count) {
      throw_file(file_, "tensor '{}' has shape {}, which is too large", name,
                 format_shape(*shape_));
    }
    if (*count * dtype_size(*dtype_) != end - begin) {
      throw_file(file_,
                 "tensor '{}' of dtype {} and shape {} needs {} bytes, its data_offsets "
                 "give {}",
                 name, dtype_name(*dtype_), format_shape(*shape_), *count * dtype_size(*dtype_),
                 end - begin);
    }
    header_.tensors[name_] = {*dtype_, *std::move(shape_), *count, begin, end};
  }

  std::uint64_t payload_bytes_;
  std::string_view file_;
  SafetensorsHeader header_;
  State state_ = State::kStart;
  bool metadata_seen_ = false;
  std::string name_;   // of the entry in hand
  std::string field_;  // of the tensor or metadata in hand
  std::optional<DType> dtype_;
  std::optional<std::vector<std::size_t>> shape_;
  std::optional<std::vector<std::uint64_t>> offsets_;
};

void check_tiling(const SafetensorsHeader& header, std::uint64_t payload_bytes,
                  std::string_view file) {
  using Entry = std::pair<const std::string, SafetensorsHeader::Tensor>;
  std::vector<const Entry*> order;
  for (const Entry& entry : header.tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t covered = 0;
  for (const Entry* entry : order) {
    const std::uint64_t begin = entry->second.begin;
    if (begin < covered) {
      throw_file(file, "tensor '{}' overlaps another: it begins at {}, the previous ends at {}",
                 printable(entry->first), begin, covered);
    }
    if (begin > covered) {
      throw_file(file, "hole of {} bytes in the data before tensor '{}'", begin - covered,
                 printable(entry->first));
    }
    covered = entry->second.end;
  }
  if (covered != payload_bytes) {
    throw_file(file, "{} bytes of data belong to no tensor", payload_bytes - covered);
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t payload_bytes,
                                           std::string_view file) {
  if (!text.starts_with('{')) throw_file(file, "header must begin with '{{'");
  // The parser takes a NUL for the end of the text and would ignore what follows.
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    throw_file(file, "header is not JSON: NUL byte at offset {}", at);
  }
  HeaderReader reader(payload_bytes, file);
  json::sax_parse(text, &reader);
  SafetensorsHeader header = reader.take();
  check_tiling(header, payload_bytes, file);
  return header;
}

}  // namespace bridgemark
