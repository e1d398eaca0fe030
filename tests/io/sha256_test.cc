#include "bridgemark/io/sha256.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "bridgemark/core/error.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  std::string out;
  for (const unsigned char byte : hash.finish()) out += fmt::format("{:02x}", byte);
  return out;
}

// The examples of the standard.
TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
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
    EXPECT_EQ(out, hash_of(text)) << length;
  }
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const testing::TempDir dir;
  std::ofstream(dir.path() / "file") << "abc";
  EXPECT_EQ(file_sha256(dir.path() / "file"), hash_of("abc"));
  EXPECT_THROW(file_sha256(dir.path() / "none"), FileError);
}

TEST(Sha256, InBase64AsAPolicyNamesIt) {
  EXPECT_EQ(base64_sha256("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

}  // namespace
}  // namespace bridgemark
