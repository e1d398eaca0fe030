#include "bridgemark/experiment/named_experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/experiment.h"
#include "tests/io/io_testing.h"
#include "tests/support/places.h"

// The experiments that the library has in it are the files of the repository.
namespace bridgemark {
namespace {

using ::testing::HasSubstr;

TEST(NamedExperiments, AreTheFilesOfTheRepository) {
  const auto folder = testing::source_tree() / "experiments";
  std::set<std::string> files, names;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    files.insert(file.path().stem().string());
  }
  for (const NamedExperiment& each : named_experiments()) {
    const std::string name(each.name);
    names.insert(name);
    EXPECT_EQ(each.text, testing::slurp((folder / (name + ".toml")).string()));
  }
  EXPECT_EQ(names, files);
}

TEST(NamedExperiments, AreLoadedByTheirNames) {
  const Experiment quick = load_experiment("quick");
  EXPECT_EQ(quick.name, "quick");
  EXPECT_FALSE(quick.runs.empty());
  try {
    load_experiment("papre-cpu");
    FAIL() << "a name that is none of them was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("the nearest is paper-cpu"));
  }
  EXPECT_THROW(load_experiment("./quick"), FileError);
}

}  // namespace
}  // namespace bridgemark
