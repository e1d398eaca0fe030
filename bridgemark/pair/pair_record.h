#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/training_set.h"

// What checkpoints, runs and results say of the pair they belong to, so that none is taken for that
// of another.
namespace bridgemark {

// Name, version, seed, direction and two fingerprints: that of p0, the reference, the potential and
// the version ("fingerprint"), and that of the potential of x1 alone with the numbers of the
// reference ("potential_fingerprint"), which older records have under the name of the first.
nlohmann::json pair_record(const BenchmarkPair& pair);

// The same with a digest of the pair's test set, "test_set": what scores belong to. Older records
// have none.
nlohmann::json scored_pair_record(const Context& context, const BenchmarkPair& pair);

// Throws FileError, naming `file`, unless a record that was read has the types of a pair_record()
// where it says something of name and direction.
void check_pair_record(const nlohmann::json& record, std::string_view file);

// Whether two records may be of one pair in one direction: what both of them say is the same, but
// for the test set, on which no training depends.
bool same_pair(const nlohmann::json& a, const nlohmann::json& b);

// Whether scores of two records may stand side by side: the pair and the test set are the same.
bool same_scored_pair(const nlohmann::json& a, const nlohmann::json& b);

// What a solver was trained on, as "samples" and "training_set" of any record; nothing where draws
// were endless, and a record without them says so. Reading throws FileError, naming `file`.
void add_training_rows(nlohmann::json& record, const TrainingRows& rows);
TrainingRows read_training_rows(const nlohmann::json& record, std::string_view file);

// A record as a message names it: 'NAME' (version 1, seed 2, fingerprint 0123456789abcdef), with
// the digest of the test set where the record has one.
std::string pair_text(const nlohmann::json& record);

}  // namespace bridgemark
