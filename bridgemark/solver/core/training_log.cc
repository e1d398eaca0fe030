#include "bridgemark/solver/core/training_log.h"

#include <limits>
#include <string_view>

#include "bridgemark/io/json.h"
#include "bridgemark/io/json_lines.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxLogBytes = std::size_t{256} << 20;

}  // namespace

std::vector<LogLine> read_training_log(const std::filesystem::path& path) {
  std::vector<LogLine> lines;
  const auto read = [&](const nlohmann::json& entry, std::string_view text,
                        const std::string& where) {
    if (!entry.is_object() || !entry.contains("update")) return;
    lines.push_back(
        {json_get<std::int64_t>(entry, "update", where),
         json_get_or<double>(entry, "loss", std::numeric_limits<double>::quiet_NaN(), where),
         json_get_or<double>(entry, "seconds", 0.0, where), std::string(text)});
  };
  each_json_line(path, kMaxLogBytes, LastLine::kMayBeUnfinished, read);
  return lines;
}

std::string log_text(const std::vector<LogLine>& lines) {
  std::string text;
  for (const LogLine& line : lines) text += line.text + "\n";
  return text;
}

}  // namespace bridgemark
