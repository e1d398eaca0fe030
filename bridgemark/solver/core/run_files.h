#pragma once

// The files of a run folder.
namespace bridgemark {

inline constexpr char kRunConfig[] = "config.toml";
inline constexpr char kRunModel[] = "model.safetensors";
inline constexpr char kRunCheckpoint[] = "checkpoint.safetensors";
inline constexpr char kRunLog[] = "log.jsonl";
inline constexpr char kRunResult[] = "result.json";
inline constexpr char kRunScores[] = "scores.json";  // of a cell of a grid

inline constexpr const char* kRunFiles[] = {kRunConfig, kRunModel,  kRunCheckpoint,
                                            kRunLog,    kRunResult, kRunScores};

}  // namespace bridgemark
