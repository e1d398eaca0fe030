#include "bridgemark/io/json_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/json.h"

namespace bridgemark {

void each_json_line(const std::filesystem::path& path, std::size_t max_bytes, LastLine last,
                    const JsonLineFn& read) {
  const std::string text = read_file(path, max_bytes);
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line(text.data() + start, end - start);
    start = end + 1;
    ++number;
    if (line.empty()) continue;
    if (end == text.size() && last == LastLine::kMayBeUnfinished) return;
    const std::string where = fmt::format("{}: line {}", path.string(), number);
    read(parse_json(line, where), line, where);
  }
}

}  // namespace bridgemark
