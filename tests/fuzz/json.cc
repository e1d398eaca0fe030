#include "bridgemark/io/json.h"

#include "tests/fuzz/fuzz.h"

// JSON, and each member asked for as every type.
void bridgemark::fuzz::read(std::string_view bytes) {
  const nlohmann::json value = parse_json(bytes, "x.json");
  if (!value.is_object()) json_get<int>(value, "a", "x.json");
  for (const auto& member : value.items()) {
    const std::string& key = member.key();
    attempt([&] { json_get<int>(value, key, "x.json"); });
    attempt([&] { json_get<std::uint64_t>(value, key, "x.json"); });
    attempt([&] { json_get<double>(value, key, "x.json"); });
    attempt([&] { json_get_or<bool>(value, key, false, "x.json"); });
    attempt([&] { json_get<std::string>(value, key, "x.json"); });
    attempt([&] { json_part(value, key, nlohmann::json::value_t::array, "x.json"); });
  }
  save_json(folder() / "saved.json", value);
}
