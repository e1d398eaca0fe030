#pragma once

#include <filesystem>
#include <string>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/pair/benchmark_pair.h"

// One run on its own: what each process of a grid does.
namespace bridgemark {

// The program's command that makes one run: its text and its folder follow, then the context's
// threads and device, and kSharersOption. For a grid's own use.
inline constexpr char kMakeRunCommand[] = "run-cell";
inline constexpr char kSharersOption[] = "--sharers";
// Its exit status where another process still works in the run's folder.
inline constexpr int kRunBusy = 75;

// Trains the run into its folder, or goes on with what is there, and keeps its scores beside it in
// scores.json, in scores-reverse.json those on the reversed pair where it is scored on that as
// well. A run that is complete is scored again, not trained again.
void make_run(const Context& context, const ExperimentRun& run, const BenchmarkPair& pair,
              const std::filesystem::path& run_folder);

// A run as one line of JSON, to hand it to another process, and back. Throws InvalidArgument for
// text that is no run.
std::string run_text(const ExperimentRun& run);
ExperimentRun parse_run(const std::string& text);

}  // namespace bridgemark
