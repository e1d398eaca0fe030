#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/io/tf_record.h"
#include "tests/io/io_testing.h"

namespace bridgemark::testing {

// An event of a file as a reader of protocol buffers takes it apart.
struct ReadEvent {
  double wall_time = 0.0;
  std::int64_t step = 0;
  std::string version;
  bool starts = false;
  std::map<std::string, float> scalars;
};

// The fields of a message by their numbers, numbers as their bits.
struct ReadField {
  int number = 0;
  std::uint64_t bits = 0;
  std::string_view bytes;
};

inline std::uint64_t take_little_endian(std::string_view& text, std::size_t count) {
  if (text.size() < count) throw std::runtime_error("a number is cut off");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  text.remove_prefix(count);
  return value;
}

inline std::uint64_t take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const std::uint64_t byte = take_little_endian(text, 1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

inline std::vector<ReadField> fields_of(std::string_view message) {
  std::vector<ReadField> fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    ReadField field{static_cast<int>(key >> 3), 0, {}};
    switch (key & 7) {
      case 0:
        field.bits = take_varint(message);
        break;
      case 1:
        field.bits = take_little_endian(message, 8);
        break;
      case 5:
        field.bits = take_little_endian(message, 4);
        break;
      case 2: {
        const std::size_t size = take_varint(message);
        if (message.size() < size) throw std::runtime_error("a text is cut off");
        field.bytes = message.substr(0, size);
        message.remove_prefix(size);
        break;
      }
      default:
        throw std::runtime_error("a field of a type that nothing here writes");
    }
    fields.push_back(field);
  }
  return fields;
}

inline void read_summary(std::string_view summary, ReadEvent& event) {
  for (const ReadField& value : fields_of(summary)) {
    std::string tag;
    float number = 0.0f;
    for (const ReadField& field : fields_of(value.bytes)) {
      if (field.number == 1) tag = field.bytes;
      if (field.number == 2) number = std::bit_cast<float>(static_cast<std::uint32_t>(field.bits));
    }
    event.scalars[tag] = number;
  }
}

inline ReadEvent read_event(std::string_view message) {
  ReadEvent event;
  for (const ReadField& field : fields_of(message)) {
    if (field.number == 1) event.wall_time = std::bit_cast<double>(field.bits);
    if (field.number == 2) event.step = static_cast<std::int64_t>(field.bits);
    if (field.number == 3) event.version = field.bytes;
    if (field.number == 5) read_summary(field.bytes, event);
    if (field.number == 7) event.starts = fields_of(field.bytes).at(0).bits == 1;
  }
  return event;
}

// The bytes of each record; throws where a checksum does not fit.
inline std::vector<std::string> read_records(std::string_view text) {
  std::vector<std::string> records;
  while (!text.empty()) {
    const std::string_view length_bytes = text.substr(0, 8);
    const std::size_t length = take_little_endian(text, 8);
    if (take_little_endian(text, 4) != masked_crc32c(length_bytes)) {
      throw std::runtime_error("the checksum of a length does not fit");
    }
    const std::string bytes(text.substr(0, length));
    text.remove_prefix(length);
    if (take_little_endian(text, 4) != masked_crc32c(bytes)) {
      throw std::runtime_error("the checksum of a record does not fit");
    }
    records.push_back(bytes);
  }
  return records;
}

// The events of a file, or of all files of a folder in the order of their names.
inline std::vector<ReadEvent> read_events(const std::filesystem::path& path) {
  std::vector<ReadEvent> events;
  std::map<std::string, std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      files[entry.path().string()] = entry.path();
    }
  } else {
    files["file"] = path;
  }
  for (const auto& [name, file] : files) {
    for (const std::string& record : read_records(slurp(file))) {
      events.push_back(read_event(record));
    }
  }
  return events;
}

}  // namespace bridgemark::testing
