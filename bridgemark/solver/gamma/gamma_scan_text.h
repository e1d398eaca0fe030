#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bridgemark/solver/gamma/gamma_scan.h"

namespace bridgemark {

// The scan for people: a table with a line a gamma, what its columns mean and what may be said of
// gamma. No line break at the end.
std::string gamma_scan_text(const GammaScan& scan);

// The sentences below the table: what no scan can tell, the proposed gamma and that of half.
std::vector<std::string> gamma_sentences(const GammaScan& scan);

// {"reference", "num_categories", "dim", "total_steps", "solver", "settings", "seed",
//  "training_x0_rows", "training_x1_rows", "x0_rows", "x1_rows", "proposed", "most_told",
//  "half_told": gammas or null, "sentences": [...], "warnings": [...], "points": [{"gamma",
//  "movement_share", "told", "told_standard_error", "conditional_entropy",
//  "conditional_entropy_standard_error", "relative_cost", "fits", "failure" or null, "scores": as
//  `evaluate --x0 --x1` has them, or null}]}. An infinite number is the text "inf" or "-inf"; what
//  cannot be given is null.
nlohmann::json gamma_scan_json(const GammaScan& scan);

// gamma_scan_json() with device, machine, version, seconds and memory: what `bridgemark gamma
// --json` prints and Python returns.
nlohmann::json gamma_scan_record(const Context& context, const GammaScan& scan, double seconds);

}  // namespace bridgemark
