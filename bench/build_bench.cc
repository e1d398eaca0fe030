// Building a preset from nothing to its folder: construction, test set and files.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/support.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxSeconds = 2.0;

// A folder of this process that goes with it.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(fs::temp_directory_path() / fmt::format("bridgemark-build-bench-{}", getpid())) {}
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void build(const Context& context, const std::string& preset, const fs::path& folder) {
  write_pair_folder(context, load_pair(preset), folder);
}

// The folder holds the pair and its test set, and a second build writes the same bytes.
void check_build(const Context& context, const std::string& preset, const fs::path& scratch) {
  build(context, preset, scratch / "first");
  build({.num_threads = 1}, preset, scratch / "second");
  for (const char* name : {"config.json", "model.safetensors"}) {
    check(file_bytes(scratch / "first" / name) == file_bytes(scratch / "second" / name),
          "two builds of {} differ in {}", preset, name);
  }
  const BenchmarkPair made = load_pair(preset);
  const BenchmarkPair stored = read_pair_folder(scratch / "first");
  const PairedStates made_test = made.test_set(context), stored_test = stored.test_set(context);
  check(stored_test.x0.rows() == kTestSetSize, "{} stores {} test rows instead of {}", preset,
        stored_test.x0.rows(), kTestSetSize);
  check(made_test.x0 == stored_test.x0 && made_test.x1 == stored_test.x1,
        "{} stores another test set than it draws", preset);
  check(made.cp_bridge().potential().log_cores() == stored.cp_bridge().potential().log_cores(),
        "{} stores other cores than it builds", preset);
}

bool run(const Options& options, const std::string& preset) {
  const Context context{.num_threads = options.threads};
  const ScratchFolder scratch;
  check_build(context, preset, scratch.path());
  fmt::print(
      "checked: the folder reads back to the same pair; a second build has the same bytes\n");

  std::vector<double> times;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    times.push_back(seconds([&] { build(context, preset, scratch.path() / "timed"); }));
  }
  const double slowest = *std::max_element(times.begin(), times.end());
  fmt::print("build {}: median {:.1f} ms, fastest {:.1f} ms, slowest {:.1f} ms\n", preset,
             1e3 * median(times), 1e3 * minimum(times), 1e3 * slowest);
  write_json(options, {{"bench", "build"},
                       {"pair", preset},
                       {"seconds", times},
                       {"median_seconds", median(times)},
                       {"limit_seconds", kMaxSeconds}});
  return judge("slowest build", slowest, kMaxSeconds, " s");
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark;
  CLI::App app("Checks and times building a preset with its test set and folder");
  bench::Options options;
  std::string preset = "d64-gaussian-0.02";
  app.add_option("--pair", preset, "Preset to build")->capture_default_str();
  bench::add_options(app, options);
  return bench::run_main(app, argc, argv, [&] { return bench::run(options, preset); });
}
