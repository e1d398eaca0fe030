#include "bridgemark/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::contains;
using testing::error_of;
using testing::loads;
using testing::put;
using testing::slurp;
using testing::TempDir;

std::string st_bytes(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(header).append(data);
}

constexpr char kHeader[] =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"F64","shape":[1],"data_offsets":[24,32]}})";

class Safetensors : public ::testing::Test {
 protected:
  SafetensorsFile load(std::string_view bytes) {
    put(path_, bytes);
    return SafetensorsFile::load(path_);
  }
  std::string refusal(std::string_view bytes) {
    const std::string message = error_of([&] { load(bytes); });
    EXPECT_TRUE(message.starts_with(path_.string() + ": ")) << message;
    return message;
  }
  // The message for a header before 32 bytes of data.
  std::string refused_header(std::string_view header) {
    return refusal(st_bytes(header, std::string(32, '\0')));
  }
  // The same for one tensor 'x' with these fields.
  std::string refused_tensor(const std::string& fields) {
    return refused_header("{\"x\":{" + fields + "}}");
  }
  // The one tensor 'x' of any dtype.
  SafetensorsFile one(std::string_view dtype, std::size_t count, std::string_view data) {
    return load(
        st_bytes(fmt::format(R"({{"x":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})",
                             dtype, count, data.size()),
                 data));
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "model.safetensors";
};

TEST_F(Safetensors, RoundTripsWhatItWrites) {
  const std::vector<double> doubles{0.1, -1e300, std::numeric_limits<double>::infinity()};
  const std::vector<float> floats{1.5f, -2.5f};
  const std::vector<std::int32_t> ints{1, -2, 3, -4, 5, -6};
  const std::vector<std::int64_t> longs{std::int64_t{1} << 40};
  SafetensorsWriter writer;
  writer.set_metadata("version", "1 \"quoted\"\n");
  writer.add("ints", {2, 3}, ints);
  writer.add("d\xc3\xa9", {3}, doubles);
  writer.add("floats", {1, 2, 1}, floats);
  writer.add("longs", {}, longs);
  writer.add("empty", {0, 5}, std::span<const double>());
  writer.write(path_);

  const SafetensorsFile file = SafetensorsFile::load(path_);
  EXPECT_EQ(file.metadata().at("version"), "1 \"quoted\"\n");
  EXPECT_EQ(file.names(),
            (std::vector<std::string>{"d\xc3\xa9", "empty", "floats", "ints", "longs"}));
  EXPECT_TRUE(file.has("ints"));
  EXPECT_FALSE(file.has("__metadata__"));
  EXPECT_EQ(file.read_int32("ints"), ints);
  EXPECT_EQ(file.read_doubles("d\xc3\xa9"), doubles);
  EXPECT_EQ(file.read_floats("floats"), floats);
  EXPECT_EQ(file.read_doubles("longs"), std::vector<double>{1099511627776.0});
  EXPECT_EQ(file.read_doubles("empty"), std::vector<double>{});
  EXPECT_EQ(file.shape("floats"), (std::vector<std::size_t>{1, 2, 1}));
  EXPECT_EQ(file.shape("longs"), std::vector<std::size_t>{});
  EXPECT_EQ(file.dtype("longs"), DType::kI64);
  file.expect_shape("ints", {2, 3});
  EXPECT_EQ(error_of([&] {
              file.expect_shape("ints", {3, 2});
            }),
            path_.string() + ": tensor 'ints' has shape [2, 3], expected [3, 2]");
}

TEST_F(Safetensors, WritesDeterministicBytesInTheOrderAdded) {
  const std::vector<std::int32_t> ints{1, 2};
  const std::vector<float> floats{0.5f};
  SafetensorsWriter writer;
  writer.set_metadata("z", "1");
  writer.set_metadata("a", "2");
  writer.add("second", {2}, ints);
  writer.add("first", {1}, floats);
  writer.write(path_);
  std::string header =
      R"({"__metadata__":{"a":"2","z":"1"},"second":{"dtype":"I32","shape":[2],)"
      R"("data_offsets":[0,8]},"first":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(slurp(path_), st_bytes(header, std::string("\1\0\0\0\2\0\0\0\0\0\0\x3f", 12)));
}

TEST_F(Safetensors, EmptyFilesAreValid) {
  SafetensorsWriter().write(path_);
  const SafetensorsFile file = SafetensorsFile::load(path_);
  EXPECT_TRUE(file.names().empty());
  EXPECT_EQ(error_of([&] { file.read_doubles("x"); }),
            path_.string() + ": tensor 'x' is missing; the file holds: no tensors");
}

TEST_F(Safetensors, WriterRefusesBadArguments) {
  const std::vector<float> floats(6);
  SafetensorsWriter writer;
  writer.add("x", {2, 3}, floats);
  EXPECT_EQ(error_of<InvalidArgument>([&] { writer.add("x", {6}, floats); }),
            "[safetensors] tensor name 'x' is taken");
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              writer.add("y", {2, 2}, floats);
            }),
            "[safetensors] tensor 'y' has shape [2, 2], got 6 values");
  error_of<InvalidArgument>([&] { writer.add("__metadata__", {6}, floats); });
  error_of<InvalidArgument>([&] { writer.add("\xff", {6}, floats); });
  error_of<InvalidArgument>([&] { writer.set_metadata("k", "\xff"); });
  error_of<InvalidArgument>([&] { writer.set_metadata("\xc3", "v"); });
  error_of<FileError>([&] { writer.write(dir_.path() / "no" / "x"); });
}

TEST_F(Safetensors, ReadsEveryDtype) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    SCOPED_TRACE(dtype_name(dtype));
    const SafetensorsFile file =
        one(dtype_name(dtype), 3, std::string(3 * dtype_size(dtype), '\0'));
    EXPECT_EQ(file.dtype("x"), dtype);
    EXPECT_EQ(file.read_doubles("x"), std::vector<double>(3));
    EXPECT_EQ(file.read_floats("x"), std::vector<float>(3));
    if (is_floating(dtype)) {
      EXPECT_EQ(error_of([&] { file.read_int32("x"); }),
                fmt::format("{}: tensor 'x' has dtype {}, expected an integer dtype",
                            path_.string(), dtype_name(dtype)));
    } else {
      EXPECT_EQ(file.read_int32("x"), std::vector<std::int32_t>(3));
    }
  }
  EXPECT_EQ(one("BF16", 2, "\x80\x3f\x40\xc0").read_floats("x"), (std::vector<float>{1, -3}));
  EXPECT_EQ(one("F16", 1, std::string("\0\x3c", 2)).read_doubles("x"), std::vector<double>{1});
}

TEST_F(Safetensors, ValuesThatDoNotFitAreNamed) {
  EXPECT_EQ(error_of([&] { one("U32", 1, "\xff\xff\xff\xff").read_int32("x"); }),
            path_.string() + ": tensor 'x' holds 4294967295 at index 0, which does not fit I32");
  const double values[2] = {1, 1e300};
  const std::string data(reinterpret_cast<const char*>(values), sizeof(values));
  EXPECT_TRUE(contains(error_of([&] { one("F64", 2, data).read_floats("x"); }),
                       "holds 1e+300 at index 1, which does not fit F32"));
}

TEST_F(Safetensors, MissingTensorListsTheOthers) {
  const SafetensorsFile file = load(st_bytes(kHeader, std::string(32, '\0')));
  EXPECT_EQ(error_of([&] { file.shape("x\n"); }),
            path_.string() + ": tensor 'x\\x0a' is missing; the file holds: a, b");
  SafetensorsWriter writer;
  for (int i = 0; i < 30; ++i) {
    writer.add("t" + std::to_string(10 + i), {0}, std::span<const float>());
  }
  writer.write(path_);
  EXPECT_TRUE(contains(error_of([&] { SafetensorsFile::load(path_).dtype("x"); }),
                       "t28, t29, and 10 more"));
}

TEST_F(Safetensors, HeaderLengthIsBounded) {
  const std::string valid = st_bytes(kHeader, std::string(32, '\0'));
  const auto with_length = [&](std::uint64_t length) {
    std::string bytes = valid;
    std::memcpy(bytes.data(), &length, 8);
    return bytes;
  };
  for (const std::uint64_t length :
       {std::uint64_t{valid.size() - 7}, std::uint64_t{50'000'000}, std::uint64_t{1} << 30,
        std::uint64_t{1} << 63, ~std::uint64_t{0} - 7, ~std::uint64_t{0}}) {
    EXPECT_TRUE(contains(refusal(with_length(length)), "its header claims"));
  }
  refusal(with_length(sizeof(kHeader) - 2));
  put(path_, with_length(100'000'001));
  std::filesystem::resize_file(path_, 200'000'000);  // sparse
  EXPECT_TRUE(contains(error_of([&] { SafetensorsFile::load(path_); }), "at most 100000000"));
  EXPECT_TRUE(contains(refusal("short"), "5 bytes, expected at least 8"));
  EXPECT_TRUE(contains(refusal(std::string(8, '\0')), "begin with '{'"));
}

TEST_F(Safetensors, HeaderMustBeTheRightJson) {
  for (const char* header :
       {"", " {}", "[]", "{", "{}", "{}{}", "{\"x\":1}", "{\"x\":null}", "{\"x\":[]}", "{\"x\":{}}",
        "{\"x\":{\"y\":{}}}", "{\"x\":{\"y\":true}}", "{\"__metadata__\":{\"a\":1}}",
        "{\"__metadata__\":{\"a\":{}}}", "{\"__metadata__\":[]}", "{\"__metadata__\":\"a\"}",
        "{\"x\xff\":{}}", "{\"__metadata__\":{\"a\":\"\xc3\"}}"}) {
    SCOPED_TRACE(header);
    refused_header(header);
  }
  EXPECT_TRUE(contains(refused_header(R"({"__metadata__":{"a":"1","a":"2"}})"), "'a' twice"));
  EXPECT_TRUE(
      contains(refused_header(R"({"__metadata__":{},"__metadata__":{}})"), "'__metadata__' twice"));
  EXPECT_TRUE(contains(refused_header(R"({"x":{"dtype":"F64","shape":[4],"data_offsets":[0,32]},)"
                                      R"("x":{"dtype":"F64","shape":[4],"data_offsets":[0,32]}})"),
                       "'x' twice"));
  EXPECT_TRUE(contains(refused_header(std::string("{}\0 ", 4)), "NUL byte"));
}

TEST_F(Safetensors, NestingBombsAreRefused) {
  const std::string deep(100'000, '[');
  refused_header(deep);
  refused_header("{\"x\":" + deep);
  refused_header("{\"x\":{\"shape\":" + deep);
  refused_header("{\"__metadata__\":{\"a\":" + deep + std::string(100'000, ']') + "}}");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  refused_header(objects);
  std::string shape;
  for (int i = 0; i < 100'000; ++i) shape += "1,";
  EXPECT_TRUE(contains(refused_header("{\"x\":{\"shape\":[" + shape), "at most 64"));
  EXPECT_LT(refused_header("{\"" + std::string(1'000'000, 'n') + "\":1}").size(), 400u);
}

TEST_F(Safetensors, TensorFieldsAreChecked) {
  const std::string dtype = R"("dtype":"F64",)";
  const std::string shape = R"("shape":[4],)";
  const std::string offsets = R"("data_offsets":[0,32])";
  EXPECT_TRUE(contains(refused_tensor(R"("shape":[4],"data_offsets":[0,32])"), "has no dtype"));
  EXPECT_TRUE(contains(refused_tensor(dtype + offsets), "has no shape"));
  EXPECT_TRUE(contains(refused_tensor(dtype + R"("shape":[4])"), "data_offsets [begin, end]"));
  EXPECT_TRUE(contains(refused_tensor(dtype + dtype + shape + offsets), "once each"));
  EXPECT_TRUE(contains(refused_tensor(dtype + shape + shape + offsets), "once each"));
  EXPECT_TRUE(contains(refused_tensor(dtype + shape + offsets + "," + offsets), "once each"));
  EXPECT_TRUE(contains(refused_tensor(dtype + shape + R"("extra":"s",)" + offsets), "'extra'"));
  EXPECT_TRUE(contains(refused_tensor(R"("dtype":"F8_E4M3",)" + shape + offsets),
                       "tensor 'x' has unsupported dtype 'F8_E4M3'"));
  EXPECT_TRUE(contains(refused_tensor(R"("dtype":8,)" + shape + offsets), "got 8 for 'dtype'"));
  for (const char* bad : {"[-4]", "[4.0]", "[\"4\"]", "[[4]]", "4", "null", "[true]", "[null]",
                          "[18446744073709551616]", "[1e2]", "{}", "[NaN]"}) {
    SCOPED_TRACE(bad);
    refused_tensor(dtype + "\"shape\":" + bad + "," + offsets);
    refused_tensor(dtype + shape + "\"data_offsets\":" + bad);
  }
  EXPECT_TRUE(contains(refused_tensor(dtype + R"("shape":[-4],)" + offsets),
                       "non-negative integers, got -4"));
}

TEST_F(Safetensors, OffsetsAreChecked) {
  const auto at = [&](const std::string& shape, const std::string& offsets) {
    return refused_tensor(R"("dtype":"F64","shape":)" + shape + R"(,"data_offsets":)" + offsets);
  };
  EXPECT_TRUE(contains(at("[5]", "[0,40]"), "outside the 32 bytes of data"));
  EXPECT_TRUE(contains(at("[4]", "[32,0]"), "outside the 32 bytes of data"));
  EXPECT_TRUE(contains(at("[4]", "[18446744073709551584,0]"), "outside"));
  EXPECT_TRUE(contains(at("[4]", "[0,24]"), "needs 32 bytes, its data_offsets give 24"));
  EXPECT_TRUE(contains(at("[4]", "[0]"), "data_offsets [begin, end]"));
  EXPECT_TRUE(contains(at("[4]", "[0,32,32]"), "2 non-negative integers"));
  EXPECT_TRUE(contains(at("[4294967296,4294967296]", "[0,32]"), "too large"));
  // 2^61 + 4 doubles: the product wraps to the 32 bytes that are there.
  EXPECT_TRUE(contains(at("[2305843009213693956]", "[0,32]"), "too large"));
  EXPECT_TRUE(contains(at("[0,4294967296,4294967296]", "[0,0]"), "too large"));
  EXPECT_TRUE(contains(at("[3]", "[8,32]"), "hole of 8 bytes in the data before tensor 'x'"));
  EXPECT_TRUE(contains(at("[3]", "[0,24]"), "8 bytes of data belong to no tensor"));
  EXPECT_TRUE(contains(refused_header(R"({"a":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},)"
                                      R"("b":{"dtype":"F64","shape":[2],"data_offsets":[16,32]}})"),
                       "tensor 'b' overlaps another"));
}

TEST_F(Safetensors, EveryTruncationIsAnError) {
  const std::string bytes = st_bytes(kHeader, std::string(32, '\0'));
  load(bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) refusal(bytes.substr(0, size));
  refusal(bytes + "x");
}

TEST_F(Safetensors, EveryCorruptionLoadsOrThrows) {
  const std::string bytes = st_bytes(kHeader, std::string(32, '\0'));
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size() - 32; ++i) {
    for (const int byte : {0, 10, 32, 34, 44, 45, 48, 57, 91, 93, 123, 125, 128, 255}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(byte);
      const bool loaded = loads([&] {
        const SafetensorsFile file = load(damaged);
        for (const std::string& name : file.names()) file.read_doubles(name);
      });
      refused += loaded ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(SafetensorsHeader, EveryCorruptionOfEveryByteParsesOrThrows) {
  const std::string text = kHeader;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(byte);
      loads([&] { parse_safetensors_header(damaged, 32, "f"); });
    }
  }
}

TEST_F(Safetensors, LargeTensorsConvertInPieces) {
  std::vector<std::int64_t> values(200'001);
  std::iota(values.begin(), values.end(), -100'000);
  SafetensorsWriter writer;
  const std::vector<std::int32_t> odd{7};
  writer.add("odd", {1}, odd);  // puts the next tensor at an offset that is no multiple of 8
  writer.add("x", {values.size()}, values);
  writer.write(path_);
  const std::vector<std::int32_t> read = SafetensorsFile::load(path_).read_int32("x");
  EXPECT_EQ(std::vector<std::int64_t>(read.begin(), read.end()), values);
}

// A tensor that is made while it is written has the bytes of one in memory, and must be whole.
TEST_F(Safetensors, TensorsCanBeMadeWhileTheyAreWritten) {
  const std::vector<double> values = {1.0, -2.0, 3.5, 4.0, 5.0, 6.0};
  SafetensorsWriter whole, made, short_of_two;
  whole.add("x", {3, 2}, values);
  whole.write(path_);
  const std::string bytes = slurp(path_);
  made.add_made("x", {3, 2}, [&](const SafetensorsWriter::TakeDoubles& take) {
    take({values.data(), 1});
    take({values.data() + 1, 5});
  });
  made.write(path_);
  EXPECT_EQ(slurp(path_), bytes);
  short_of_two.add_made("x", {3, 2}, [&](const SafetensorsWriter::TakeDoubles& take) {
    take({values.data(), 4});
  });
  EXPECT_EQ(error_of<InvalidArgument>([&] { short_of_two.write(path_); }),
            "[safetensors] tensor 'x' has shape [3, 2], got 4 values");
  EXPECT_EQ(slurp(path_), bytes);  // the old file stays
}

TEST_F(Safetensors, ReadsARangeOfATensor) {
  const std::vector<double> values = {1.0, -2.0, 3.5, 4.0};
  SafetensorsWriter writer;
  writer.add("x", {2, 2}, values);
  writer.write(path_);
  const SafetensorsFile file = SafetensorsFile::load(path_);
  EXPECT_EQ(file.read_floats("x", 1, 2), (std::vector<float>{-2.0f, 3.5f}));
  EXPECT_EQ(file.read_floats("x", 4, 0), std::vector<float>());
  EXPECT_EQ(error_of<InvalidArgument>([&] { file.read_floats("x", 3, 2); }),
            "[safetensors] tensor 'x' has 4 values, got 2 from 3 on");
  EXPECT_EQ(file.path(), path_.string());
}

}  // namespace
}  // namespace bridgemark
