#include "bridgemark/io/disk/temporaries.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bridgemark/io/disk/atomic_file.h"
#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

namespace fs = std::filesystem;
using testing::put;
using testing::TempDir;

TEST(Temporaries, AnEndRemovesThoseOfOpenFiles) {
  const TempDir dir;
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(std::make_unique<AtomicFile>(dir.path() / std::to_string(i)));
  }
  EXPECT_FALSE(is_empty(dir.path()));
  remove_temporaries();
  EXPECT_TRUE(is_empty(dir.path()));
}

TEST(Temporaries, AnEndLeavesWhatIsCommitted) {
  const TempDir dir;
  for (int i = 0; i < 200; ++i) {  // more than may be open at once
    AtomicFile file(dir.path() / "out");
    file.write("x", 1);
    file.commit();
  }
  remove_temporaries();
  EXPECT_EQ(testing::slurp(dir.path() / "out"), "x");
}

TEST(Temporaries, SweepTakesThoseOfTheNamedFilesAlone) {
  const TempDir dir;
  const char* const files[] = {"a.json"};
  const fs::path stale = dir.path() / temporary_name("a.json");
  put(stale, "x");
  const std::vector<std::string> kept = {".a.json.tmp-ABC123", ".a.json.tmp-abc1234", "a.json",
                                         ".b.json.tmp-abc123", ".a.json.tmp-abc12"};
  for (const std::string& name : kept) put(dir.path() / name, "x");
  sweep_temporaries(dir.path(), files);
  EXPECT_FALSE(fs::exists(stale));
  for (const std::string& name : kept) EXPECT_TRUE(fs::exists(dir.path() / name)) << name;
  sweep_temporaries(dir.path() / "none", files);
}

// A killed process leaves its temporary without a lock; whoever writes the file next takes it away.
TEST(Temporaries, AWriteClearsWhatKilledOnesLeftOfTheFile) {
  const TempDir dir;
  const fs::path stale = dir.path() / temporary_name("out"),
                 other = dir.path() / temporary_name("b");
  put(stale, "x");
  put(other, "x");
  AtomicFile first(dir.path() / "out");
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(other));
  first.write("first", 5);
  AtomicFile second(dir.path() / "out");  // the first is at work: its temporary stays
  second.write("second", 6);
  first.commit();
  EXPECT_EQ(testing::slurp(dir.path() / "out"), "first");
  second.commit();
  EXPECT_EQ(testing::slurp(dir.path() / "out"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 2);
}

}  // namespace
}  // namespace bridgemark
