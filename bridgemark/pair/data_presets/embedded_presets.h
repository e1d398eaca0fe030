#pragma once

#include <span>
#include <string_view>

namespace bridgemark {

// A file of data_presets/, which the library has in it, by its name without the ending.
struct EmbeddedPreset {
  std::string_view name;
  std::string_view text;
};

std::span<const EmbeddedPreset> embedded_preset_heads();   // NAME.json
std::span<const EmbeddedPreset> embedded_preset_levels();  // NAME.txt

}  // namespace bridgemark
