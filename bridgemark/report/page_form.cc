#include "bridgemark/report/page_form.h"

#include <nlohmann/json.hpp>

#include "bridgemark/report/markup.h"

namespace bridgemark {

using nlohmann::json;

std::string fill_page(std::string_view form, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = form.find("{{", at);
    out += form.substr(at, open - at);
    if (open == form.npos) return out;
    const std::size_t close = form.find("}}", open);
    out += values.at(std::string(form.substr(open + 2, close - open - 2)));
    at = close + 2;
  }
}

std::string json_in_html(const json& value) {
  return replace_all(value.dump(-1, ' ', false, json::error_handler_t::replace), "<", "\\u003c");
}

}  // namespace bridgemark
