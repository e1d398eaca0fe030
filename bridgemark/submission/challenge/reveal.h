#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/pair/training_set.h"

namespace bridgemark {

// A pair that the solvers of a challenge have to learn.
struct RevealedInstance {
  std::string kit;   // the name of its kit, which says nothing of the pair
  std::string pair;  // NAME-iN
  TrainingRows rows = {};
};

struct Reveal {
  std::string value;       // the public random value
  std::uint64_t seed = 0;  // of each training and of the evaluation
  std::vector<RevealedInstance> instances;
};

// Instance numbers have three to six digits, so that no preset is among them.
inline constexpr std::uint64_t kFirstRevealedNumber = 100;

// What follows from challenge.json, commitments.jsonl and a value: the same for everybody who has
// the two files. root is the SHA-256 of
//   bridgemark reveal 1
//   challenge SHA-256 of challenge.json
//   commitments SHA-256 of commitments.jsonl
//   value VALUE
// and the number for a purpose is made of the first 8 bytes, the first byte the highest, of the
// SHA-256 of "ROOT PURPOSE" with a line end behind it. "seed" gives the seed, modulo 10^9;
// "training set of instance I of PRESET" likewise. "instance I of PRESET", modulo 999900 and plus
// 100, gives I's number, and ", again", as often as needed, another one where it is taken.
// Throws InvalidArgument without commitments, and for a value that is no line of text.
Reveal derive_reveal(const std::filesystem::path& challenge, const std::string& value);

// Writes revealed.json, which closes the commitments. Where it is there it must be what follows
// from the value; the same value again changes nothing, another one is refused.
Reveal reveal_challenge(const std::filesystem::path& challenge, const std::string& value);

// Throws FileError where revealed.json is missing, or is not what follows from its value.
Reveal load_reveal(const std::filesystem::path& challenge);

// Writes a kit (write_kit) for each instance, folder/KIT, whose kit.json has the reference process
// and the space in place of the pair's name. Returns the folders.
std::vector<std::filesystem::path> write_challenge_kits(const Context& context,
                                                        const Reveal& reveal,
                                                        const std::filesystem::path& folder);

}  // namespace bridgemark
