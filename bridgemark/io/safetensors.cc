#include "bridgemark/io/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/read_values.h"
#include "bridgemark/io/shape.h"

namespace bridgemark {

namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kMaxNamesListed = 20;

// The text as a JSON string; throws InvalidArgument unless it is UTF-8.
std::string quoted(std::string_view what, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw_invalid("safetensors", "{} must be UTF-8, got '{}'", what, printable(text));
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::load(const std::filesystem::path& path) {
  SafetensorsFile result;
  result.file_ = std::make_shared<const InputFile>(path);
  const InputFile& file = *result.file_;
  if (file.size() < kLengthBytes) {
    throw_file(file.name(), "not a safetensors file: {} bytes, expected at least {}", file.size(),
               kLengthBytes);
  }
  std::uint64_t length = 0;
  file.read_at(0, &length, kLengthBytes);
  const std::uint64_t available = file.size() - kLengthBytes;
  if (length > std::min(available, kMaxHeaderBytes)) {
    throw_file(file.name(),
               "not a safetensors file: its header claims {} bytes, {} follow and at most {} are "
               "allowed",
               length, available, kMaxHeaderBytes);
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read_at(kLengthBytes, text.data(), text.size());
  result.payload_offset_ = kLengthBytes + length;
  result.header_ = parse_safetensors_header(text, available - length, file.name());
  return result;
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& entry : header_.tensors) names.push_back(entry.first);
  return names;
}

const SafetensorsHeader::Tensor& SafetensorsFile::find(std::string_view name) const {
  if (const auto found = header_.tensors.find(name); found != header_.tensors.end()) {
    return found->second;
  }
  std::vector<std::string> listed;
  for (const auto& entry : header_.tensors) {
    if (listed.size() == kMaxNamesListed) {
      listed.push_back(fmt::format("and {} more", header_.tensors.size() - kMaxNamesListed));
      break;
    }
    listed.push_back(printable(entry.first));
  }
  if (listed.empty()) listed.push_back("no tensors");
  throw_file(file_->name(), "tensor '{}' is missing; the file holds: {}", printable(name),
             fmt::join(listed, ", "));
}

const std::vector<std::size_t>& SafetensorsFile::shape(std::string_view name) const {
  return find(name).shape;
}

DType SafetensorsFile::dtype(std::string_view name) const { return find(name).dtype; }

void SafetensorsFile::expect_shape(std::string_view name,
                                   std::span<const std::size_t> expected) const {
  const std::vector<std::size_t>& found = shape(name);
  if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end())) {
    throw_file(file_->name(), "tensor '{}' has shape {}, expected {}", printable(name),
               format_shape(found), format_shape(expected));
  }
}

template <typename T>
std::vector<T> SafetensorsFile::read(std::string_view name) const {
  const SafetensorsHeader::Tensor& tensor = find(name);
  return read_values<T>(*file_, payload_offset_ + tensor.begin, tensor.dtype, tensor.count,
                        fmt::format("tensor '{}'", printable(name)));
}

std::vector<double> SafetensorsFile::read_doubles(std::string_view name) const {
  return read<double>(name);
}

std::vector<float> SafetensorsFile::read_floats(std::string_view name) const {
  return read<float>(name);
}

std::vector<float> SafetensorsFile::read_floats(std::string_view name, std::size_t first,
                                                std::size_t count) const {
  const SafetensorsHeader::Tensor& tensor = find(name);
  if (first > tensor.count || count > tensor.count - first) {
    throw_invalid("safetensors", "tensor '{}' has {} values, got {} from {} on", printable(name),
                  tensor.count, count, first);
  }
  return read_values<float>(*file_,
                            payload_offset_ + tensor.begin + first * dtype_size(tensor.dtype),
                            tensor.dtype, count, fmt::format("tensor '{}'", printable(name)));
}

std::vector<std::int32_t> SafetensorsFile::read_int32(std::string_view name) const {
  return read<std::int32_t>(name);
}

void SafetensorsWriter::set_metadata(std::string key, std::string value) {
  quoted("metadata key", key);
  quoted("metadata value", value);
  metadata_[std::move(key)] = std::move(value);
}

void SafetensorsWriter::add(std::string name, std::vector<std::size_t> shape,
                            std::span<const double> data) {
  add_entry(
      {std::move(name), DType::kF64, std::move(shape), data.size_bytes(), std::as_bytes(data), {}},
      data.size());
}

void SafetensorsWriter::add(std::string name, std::vector<std::size_t> shape,
                            std::span<const float> data) {
  add_entry(
      {std::move(name), DType::kF32, std::move(shape), data.size_bytes(), std::as_bytes(data), {}},
      data.size());
}

void SafetensorsWriter::add(std::string name, std::vector<std::size_t> shape,
                            std::span<const std::int32_t> data) {
  add_entry(
      {std::move(name), DType::kI32, std::move(shape), data.size_bytes(), std::as_bytes(data), {}},
      data.size());
}

void SafetensorsWriter::add(std::string name, std::vector<std::size_t> shape,
                            std::span<const std::int64_t> data) {
  add_entry(
      {std::move(name), DType::kI64, std::move(shape), data.size_bytes(), std::as_bytes(data), {}},
      data.size());
}

void SafetensorsWriter::add_made(std::string name, std::vector<std::size_t> shape,
                                 MakeDoubles make) {
  const std::size_t size = element_count(shape, sizeof(double)).value_or(0) * sizeof(double);
  add_entry({std::move(name), DType::kF64, std::move(shape), size, {}, std::move(make)},
            size / sizeof(double));
}

void SafetensorsWriter::add_entry(Entry entry, std::size_t count) {
  quoted("tensor name", entry.name);
  if (entry.name == "__metadata__" ||
      std::any_of(entries_.begin(), entries_.end(),
                  [&](const Entry& other) { return other.name == entry.name; })) {
    throw_invalid("safetensors", "tensor name '{}' is taken", printable(entry.name));
  }
  if (entry.shape.size() > kMaxRank ||
      element_count(entry.shape, dtype_size(entry.dtype)) != count) {
    throw_invalid("safetensors", "tensor '{}' has shape {}, got {} values", printable(entry.name),
                  format_shape(entry.shape), count);
  }
  entries_.push_back(std::move(entry));
}

std::string SafetensorsWriter::not_finite() const {
  const auto finite = [](const Entry& entry, auto zero) {
    using T = decltype(zero);
    const std::span values(reinterpret_cast<const T*>(entry.bytes.data()),
                           entry.bytes.size() / sizeof(T));
    return std::ranges::all_of(values, [](T value) { return std::isfinite(value); });
  };
  for (const Entry& entry : entries_) {
    if (entry.dtype == DType::kF32 && !finite(entry, 0.0f)) return entry.name;
    if (entry.dtype == DType::kF64 && !finite(entry, 0.0)) return entry.name;
  }
  return {};
}

std::string SafetensorsWriter::header() const {
  std::vector<std::string> items;
  if (!metadata_.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata_) {
      pairs.push_back(quoted("metadata key", key) + ":" + quoted("metadata value", value));
    }
    items.push_back(fmt::format("\"__metadata__\":{{{}}}", fmt::join(pairs, ",")));
  }
  std::uint64_t offset = 0;
  for (const Entry& entry : entries_) {
    items.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                quoted("tensor name", entry.name), dtype_name(entry.dtype),
                                fmt::join(entry.shape, ","), offset, offset + entry.size));
    offset += entry.size;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(items, ","));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

void SafetensorsWriter::write(const std::filesystem::path& path) const {
  const std::string text = header();
  const std::uint64_t length = text.size();
  if (length > kMaxHeaderBytes) {
    throw_invalid("safetensors", "the header must have at most {} bytes, got {}", kMaxHeaderBytes,
                  length);
  }
  AtomicFile file(path);
  file.write(&length, sizeof(length));
  file.write(text.data(), text.size());
  for (const Entry& entry : entries_) {
    if (!entry.make) {
      file.write(entry.bytes.data(), entry.bytes.size());
      continue;
    }
    std::size_t made = 0;
    entry.make([&](std::span<const double> values) {
      file.write(values.data(), values.size_bytes());
      made += values.size_bytes();
    });
    if (made != entry.size) {
      throw_invalid("safetensors", "tensor '{}' has shape {}, got {} values", printable(entry.name),
                    format_shape(entry.shape), made / sizeof(double));
    }
  }
  file.commit();
}

}  // namespace bridgemark
