#include "bridgemark/io/disk/paths.h"

#include <gmock/gmock.h>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

TEST(ListFolder, NamesInOrder) {
  const testing::TempDir dir;
  for (const char* name : {"b", "a", "c"}) write_file_atomically(dir.path() / name, "");
  EXPECT_THAT(list_folder(dir.path()),
              ::testing::ElementsAre(dir.path() / "a", dir.path() / "b", dir.path() / "c"));
}

TEST(ListFolder, SaysWhyNot) {
  const testing::TempDir dir;
  write_file_atomically(dir.path() / "file", "");
  for (const char* name : {"none", "file"}) {
    try {
      list_folder(dir.path() / name);
      ADD_FAILURE() << name;
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("the folder cannot be read")) << name;
      EXPECT_THAT(error.what(), ::testing::HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace bridgemark
