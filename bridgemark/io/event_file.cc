#include "bridgemark/io/event_file.h"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/tf_record.h"

namespace bridgemark {

namespace {

// The fields of TensorBoard's messages that are written, by their numbers.
namespace field {
constexpr int kEventWallTime = 1, kEventStep = 2, kEventVersion = 3, kEventSummary = 5,
              kEventSessionLog = 7;
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1, kValueSimple = 2;
constexpr int kSessionStatus = 1;
}  // namespace field

constexpr int kSessionStart = 1;

// A message of protocol buffers, field after field.
class ProtoMessage {
 public:
  ProtoMessage& whole(int number, std::uint64_t value) {
    key(number, 0);
    varint(value);
    return *this;
  }
  ProtoMessage& fixed(int number, double value) {
    key(number, 1);
    little_endian(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  ProtoMessage& fixed(int number, float value) {
    key(number, 5);
    little_endian(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  ProtoMessage& bytes(int number, std::string_view value) {
    key(number, 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void key(int number, int wire_type) {
    varint(static_cast<std::uint64_t>(number << 3 | wire_type));
  }

  // Seven bits a byte, the lowest first; all but the last have the high bit.
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>((value & 0x7f) | 0x80));
    text_.push_back(static_cast<char>(value));
  }
  void little_endian(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) text_.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }

  std::string text_;
};

using SystemTime = std::chrono::system_clock;

double wall_time() {
  return std::chrono::duration<double>(SystemTime::now().time_since_epoch()).count();
}

using FilePointer = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// TensorBoard takes what has "tfevents" in its name, in the order of the names: a time of ten
// digits and what tells files of one second apart.
FilePointer new_event_file(const std::filesystem::path& folder, std::filesystem::path& path) {
  create_folder(folder);
  auto now = SystemTime::now().time_since_epoch();
  for (;; now += SystemTime::duration(1)) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(now - seconds);
    path = folder / fmt::format("events.out.tfevents.{:010}.{:09}.bridgemark", seconds.count(),
                                rest.count());
    std::FILE* file = std::fopen(path.c_str(), "wbx");
    if (file != nullptr) return {file, &std::fclose};
    if (errno != EEXIST) throw_file(path.string(), "cannot be made: {}", std::strerror(errno));
  }
}

}  // namespace

std::string version_event(double wall_time) {
  return ProtoMessage()
      .fixed(field::kEventWallTime, wall_time)
      .bytes(field::kEventVersion, "brain.Event:2")
      .text();
}

std::string start_event(double wall_time, std::int64_t step) {
  return ProtoMessage()
      .fixed(field::kEventWallTime, wall_time)
      .whole(field::kEventStep, static_cast<std::uint64_t>(step))
      .bytes(field::kEventSessionLog,
             ProtoMessage().whole(field::kSessionStatus, kSessionStart).text())
      .text();
}

std::string scalar_event(double wall_time, std::int64_t step,
                         std::span<const EventScalar> scalars) {
  ProtoMessage summary;
  for (const EventScalar& scalar : scalars) {
    summary.bytes(field::kSummaryValue,
                  ProtoMessage()
                      .bytes(field::kValueTag, scalar.tag)
                      .fixed(field::kValueSimple, static_cast<float>(scalar.value))
                      .text());
  }
  return ProtoMessage()
      .fixed(field::kEventWallTime, wall_time)
      .whole(field::kEventStep, static_cast<std::uint64_t>(step))
      .bytes(field::kEventSummary, summary.text())
      .text();
}

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t first_step)
    : file_(new_event_file(folder, path_)) {
  write(version_event(wall_time()));
  write(start_event(wall_time(), first_step));
}

void EventFile::add(std::int64_t step, std::span<const EventScalar> scalars) {
  write(scalar_event(wall_time(), step, scalars));
}

void EventFile::write(std::string_view event) {
  const std::string record = tf_record(event);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() ||
      std::fflush(file_.get()) != 0) {
    throw_file(path_.string(), "cannot be written: {}", std::strerror(errno));
  }
}

}  // namespace bridgemark
