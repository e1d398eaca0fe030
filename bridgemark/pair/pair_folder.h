#pragma once

#include <filesystem>

#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// The folder layout of the published benchmark, config.json + model.safetensors:
//   log_alpha [K], log_cp_cores [D,S,K], input_dataset [n,D], target_dataset [n,D].
// Pairs that layout cannot express (a matrix reference, another p0) add tensors: reference_matrix
// [S,S], reference_u and reference_v [S,r], source_pmf [D,S], source_states [n,D], or the mixture
// log_source_alpha [J], log_source_cp_cores [D,S,J]: f of a two-sided pair, p0 of a distilled one,
// whose config.json also says what it was fitted to ("origin"). Name, version
// and seed travel in the metadata of the safetensors file, which other readers pass over.
void write_pair_folder(const Context& context, const BenchmarkPair& pair,
                       const std::filesystem::path& folder);

// Throws FileError that names the file and what is wrong with it.
BenchmarkPair read_pair_folder(const std::filesystem::path& folder);

}  // namespace bridgemark
