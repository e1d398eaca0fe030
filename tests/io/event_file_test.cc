#include "bridgemark/io/event_file.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/io/tf_record.h"
#include "tests/io/io_testing.h"
#include "tests/support/event_reader.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::ReadEvent;
using testing::TempDir;

std::string counted_bytes(int first, int step) {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<char>(first + step * i));
  return bytes;
}

// The examples of RFC 3720, B.4, and the one that every implementation has.
TEST(TfRecord, ChecksumsAreThoseOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(counted_bytes(0, 1)), 0x46dd794eu);
  EXPECT_EQ(crc32c(counted_bytes(31, -1)), 0x113fdb5cu);
}

// 0xe3069283 turned right by 15 bits is 0x2507c60d; the delta is added modulo 2^32.
TEST(TfRecord, MasksTheChecksum) {
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u);
  EXPECT_EQ(masked_crc32c(""), 0xa282ead8u);
}

TEST(TfRecord, FramesBytesOfAnyLength) {
  std::string text;
  for (const std::size_t length : {0u, 1u, 127u, 128u, 300u}) {
    const std::string record = tf_record(std::string(length, 'x'));
    EXPECT_EQ(record.size(), length + 16);
    text += record;
  }
  const auto records = testing::read_records(text);
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[3], std::string(128, 'x'));
  text[text.size() - 10] = 'y';
  EXPECT_THROW(testing::read_records(text), std::runtime_error);
}

// As protocol buffers encode it: field 1 as a double, field 2 as a varint of 300, field 5 with one
// value whose tag is "loss" and whose number is 0.5.
TEST(EventFile, AScalarHasTheBytesOfTheFormat) {
  const std::array scalars = {EventScalar{"loss", 0.5}};
  const std::string expected(
      "\x09\x00\x00\x00\x00\x00\x00\xf0\x3f\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00"
      "\x3f",
      27);
  EXPECT_EQ(scalar_event(1.0, 300, scalars), expected);
}

// Seven bits of a number a byte: around the lengths of one and two bytes, and a long one.
TEST(EventFile, StepsOfAnyLengthAreReadBack) {
  for (const std::int64_t step :
       {std::int64_t{0}, std::int64_t{127}, std::int64_t{128}, std::int64_t{16383},
        std::int64_t{16384}, std::int64_t{1} << 40}) {
    EXPECT_EQ(testing::read_event(start_event(1.0, step)).step, step);
  }
}

TEST(EventFile, HasItsVersionItsStartAndWhatIsAdded) {
  const TempDir dir;
  EventFile file(dir.path() / "new" / "folder", 7);
  const std::array scalars = {EventScalar{"loss", 0.25}, EventScalar{"joint_kl", -1e30}};
  file.add(1000000007, scalars);
  const std::vector<ReadEvent> events = testing::read_events(file.path());  // while it is open
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_TRUE(events[1].starts);
  EXPECT_EQ(events[1].step, 7);
  EXPECT_EQ(events[2].step, 1000000007);
  EXPECT_EQ(events[2].scalars,
            (std::map<std::string, float>{{"loss", 0.25f}, {"joint_kl", -1e30f}}));
  EXPECT_GT(events[2].wall_time, 1.7e9);
}

// TensorBoard reads the files of a folder in the order of their names.
TEST(EventFile, EachStartHasAFileBehindThoseBefore) {
  const TempDir dir;
  std::string before;
  for (int start = 0; start < 50; ++start) {
    const std::string name = EventFile(dir.path(), 1).path().filename().string();
    EXPECT_LT(before, name);
    EXPECT_TRUE(name.starts_with("events.out.tfevents.")) << name;
    before = name;
  }
}

TEST(EventFile, AFolderThatCannotBeIsRefused) {
  const TempDir dir;
  testing::put(dir.path() / "file", "");
  testing::contains(testing::error_of([&] { EventFile(dir.path() / "file", 1); }), "file");
}

}  // namespace
}  // namespace bridgemark
