#include "bridgemark/io/sha256.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "bridgemark/core/error.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

// The examples of the standard.
TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(text_sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(text_sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(text_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(text_sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  // Every length around the ends of one and two blocks.
  for (std::size_t length = 50; length < 140; ++length) {
    const std::string text(length, 'x');
    Sha256 hash;
    for (const char c : text) hash.add({&c, 1});
    std::string out;
    for (const unsigned char byte : hash.finish()) out += fmt::format("{:02x}", byte);
    EXPECT_EQ(out, text_sha256(text)) << length;
  }
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const testing::TempDir dir;
  std::ofstream(dir.path() / "file") << "abc";
  EXPECT_EQ(file_sha256(dir.path() / "file"), text_sha256("abc"));
  EXPECT_THROW(file_sha256(dir.path() / "none"), FileError);
}

TEST(Sha256, InBase64AsAPolicyNamesIt) {
  EXPECT_EQ(base64_sha256("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

}  // namespace
}  // namespace bridgemark
