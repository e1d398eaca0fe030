#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

// Event files as TensorBoard reads them: records (tf_record.h) of Event messages, which are encoded
// here, so that neither TensorFlow nor protocol buffers are needed.
namespace bridgemark {

// A number with a name.
struct EventScalar {
  std::string tag;
  double value = 0.0;  // written as float32, as the format has it
};

// The messages of an event file, in the encoding of protocol buffers. Wall times are seconds since
// 1970.
std::string version_event(double wall_time);
std::string start_event(double wall_time, std::int64_t step);
std::string scalar_event(double wall_time, std::int64_t step, std::span<const EventScalar> scalars);

// A new event file in a folder, beside those of earlier starts, which are left as they are. Each
// event is in the file when the call returns. Every failure is a FileError.
class EventFile {
 public:
  // The folder is made where it is not there. Readers drop what earlier files of the folder have
  // from `first_step` on.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);

  void add(std::int64_t step, std::span<const EventScalar> scalars);

  const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view event);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace bridgemark
