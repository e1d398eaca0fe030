#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bridgemark/metric/evaluation.h"

namespace bridgemark {

// {score name: mean, ..., "standard_errors": {name: ...}, "values": {name: [one a seed]},
// "infinite": [names], "missing": {name: reason}, "blocks": {name: blocks_json()}, ..., the keys of
// joint_kl_json()}. JSON has no
// infinity: a KL that is infinite is null and named in "infinite"; any other null could not be
// given, and "missing" says why.
nlohmann::json evaluation_json(const Evaluation& evaluation);

// Reads it back, the scores by their names; num_steps stays 0. Records of older versions may lack
// blocks and the keys of joint_kl_json(). Throws FileError that names `file`.
Evaluation evaluation_from_json(const nlohmann::json& object, const std::string& file);

inline constexpr char kJointKlBound[] = "joint_kl_bound";
inline constexpr char kJointKlChange[] = "joint_kl_half_particles_change";
inline constexpr char kExactBound[] = "exact", kUpperBound[] = "upper";

// {"joint_kl_bound": "exact", "upper" or, where there is no joint KL, null; then also
// "joint_kl_particles" (0 for a closed form), "joint_kl_rows", "joint_kl_half_particles_change",
// "joint_kl_worst_share", "joint_kl_worst_rows", "joint_kl_worst_values" (null: infinite)}.
nlohmann::json joint_kl_json(const JointKlDetail& detail);

// Reads them. A record without the rows has the detail of no joint KL, and one without the values
// of its worst rows, as older records are, has none of these. Throws FileError that names `file`.
JointKlDetail joint_kl_from_json(const nlohmann::json& object, const std::string& file);

// Score::bound_change as records have it: the texts above under `bound_key`, and the change, a
// number or null, under `change_key`. None where the key is missing, as in older records.
std::optional<double> bound_change_from_json(const nlohmann::json& object, const char* bound_key,
                                             const char* change_key, const std::string& file);

// {"rows": inputs, "means": [one a block]}.
nlohmann::json blocks_json(const BlockMeans& blocks);

// Reads them from `object` under `key`; none where the key is missing, as in older records. Throws
// FileError that names `file`.
BlockMeans blocks_from_json(const nlohmann::json& object, const std::string& key,
                            const std::string& file);

}  // namespace bridgemark
