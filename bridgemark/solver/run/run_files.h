#pragma once

// The files of a run folder.
namespace bridgemark {

inline constexpr char kRunConfig[] = "config.toml";
inline constexpr char kRunModel[] = "model.safetensors";
inline constexpr char kRunCheckpoint[] = "checkpoint.safetensors";
inline constexpr char kRunLog[] = "log.jsonl";
inline constexpr char kRunResult[] = "result.json";
// Of a folder with a run for each label (labelled_run.h), which has none of the others.
inline constexpr char kRunLabels[] = "labels.json";
// Of a cell of a grid: on the pair that it was trained on, and on the reversed one.
inline constexpr char kRunScores[] = "scores.json";
inline constexpr char kRunReverseScores[] = "scores-reverse.json";

inline constexpr const char* kRunFiles[] = {kRunConfig, kRunModel,  kRunCheckpoint,   kRunLog,
                                            kRunResult, kRunScores, kRunReverseScores};

}  // namespace bridgemark
