#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/io/disk/input_file.h"
#include "bridgemark/io/dtype.h"
#include "bridgemark/io/safetensors_header.h"

namespace bridgemark {

// A safetensors file, checked as a whole when loaded: tensors are read from it when asked for.
// Copies share the open file. Every failure is a FileError.
class SafetensorsFile {
 public:
  static SafetensorsFile load(const std::filesystem::path& path);

  const std::string& path() const { return file_->name(); }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  std::vector<std::string> names() const;  // sorted
  bool has(std::string_view name) const { return header_.tensors.contains(name); }

  // Each of these throws if the tensor is missing.
  const std::vector<std::size_t>& shape(std::string_view name) const;
  DType dtype(std::string_view name) const;
  void expect_shape(std::string_view name, std::span<const std::size_t> expected) const;
  void expect_shape(std::string_view name, std::initializer_list<std::size_t> expected) const {
    expect_shape(name, std::span(expected.begin(), expected.size()));
  }

  // Row-major values. Floats and doubles come from any dtype, rounded; a finite double beyond
  // float is an error. Integers come from any integer dtype or BOOL; one outside int32 is an error.
  std::vector<double> read_doubles(std::string_view name) const;
  std::vector<float> read_floats(std::string_view name) const;
  std::vector<std::int32_t> read_int32(std::string_view name) const;
  // `count` values of the flat tensor from `first` on; throws InvalidArgument past its end.
  std::vector<float> read_floats(std::string_view name, std::size_t first, std::size_t count) const;

 private:
  SafetensorsFile() = default;
  const SafetensorsHeader::Tensor& find(std::string_view name) const;
  template <typename T>
  std::vector<T> read(std::string_view name) const;

  std::shared_ptr<const InputFile> file_;
  std::uint64_t payload_offset_ = 0;
  SafetensorsHeader header_;
};

// Gathers tensors and writes them at once. The same calls give the same bytes: data in the order
// added, metadata sorted by key.
class SafetensorsWriter {
 public:
  void set_metadata(std::string key, std::string value);

  // The data is not copied: it must outlive write(). Throws InvalidArgument if the name is taken
  // or not UTF-8, or if the shape does not hold as many values.
  void add(std::string name, std::vector<std::size_t> shape, std::span<const double> data);
  void add(std::string name, std::vector<std::size_t> shape, std::span<const float> data);
  void add(std::string name, std::vector<std::size_t> shape, std::span<const std::int32_t> data);
  void add(std::string name, std::vector<std::size_t> shape, std::span<const std::int64_t> data);
  template <typename T>
  void add(std::string name, std::vector<std::size_t> shape, std::vector<T>&& data) = delete;

  // Doubles that are never in memory as a whole: write() calls make(take), which calls take(values)
  // with one piece after the other. write() throws InvalidArgument if they are not as many as the
  // shape holds.
  using TakeDoubles = std::function<void(std::span<const double>)>;
  using MakeDoubles = std::function<void(const TakeDoubles&)>;
  void add_made(std::string name, std::vector<std::size_t> shape, MakeDoubles make);

  // The first tensor of floats or doubles with a value that is not finite; empty where all are.
  std::string not_finite() const;

  void write(const std::filesystem::path& path) const;

 private:
  struct Entry {
    std::string name;
    DType dtype;
    std::vector<std::size_t> shape;
    std::size_t size;                  // in bytes
    std::span<const std::byte> bytes;  // empty where they are made
    MakeDoubles make;
  };

  void add_entry(Entry entry, std::size_t count);
  std::string header() const;

  std::map<std::string, std::string> metadata_;
  std::vector<Entry> entries_;
};

}  // namespace bridgemark
