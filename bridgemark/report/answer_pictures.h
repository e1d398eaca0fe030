#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "bridgemark/core/array.h"
#include "bridgemark/pair/benchmark_pair.h"

// Answers that people can look at: pictures and words. Null where rows are numbers.
namespace bridgemark {

inline constexpr std::size_t kPicturedDraws = 4;  // of each input

// How rows of a pair are shown:
//   {side, ordered, colours: ["#rrggbb"..]}  a pair on a quadtree of at least 3 x 3 leaves:
//   pictures {letters: ["a"..]}                       a distilled pair whose origin has an
//   alphabet: words
nlohmann::json row_form(const BenchmarkPair& pair);

// The first kPicturedDraws of `each` draws of every input, one after the other:
// [[[category..]..] for each input].
nlohmann::json pictured_draws(StatesView draws, std::size_t each);

// What the truth says of each input, with log_marginals [inputs, D, S]: where categories have an
// order {mean, deviation}, else {likeliest, share}: the likeliest category of each coordinate and
// its probability. All [[value..] for each input].
nlohmann::json pictured_truth(const Array3<double>& log_marginals, bool ordered);

// All that the truth shows of these inputs [rows, D]: row_form, pictured_truth, and x0 and truth,
// the inputs and `each` draws given each of them; null where rows are numbers.
nlohmann::json truth_pictures(const BenchmarkPair& pair, StatesView inputs, StatesView truth_draws,
                              std::size_t each, const Array3<double>& log_marginals);

}  // namespace bridgemark
