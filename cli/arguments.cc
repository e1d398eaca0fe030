#include "cli/arguments.h"

#include <string_view>

namespace bridgemark::cli {

namespace {

constexpr std::string_view kSet = "--set";

bool is_setting(std::string_view word) {
  return !word.starts_with("-") && word.find('=') != std::string_view::npos;
}

}  // namespace

std::vector<std::string> with_each_setting_named(const std::vector<std::string>& arguments) {
  std::vector<std::string> named;
  bool after_setting = false;  // of --set, with nothing but settings between
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool is_value = i > 0 && arguments[i - 1] == kSet;
    if (after_setting && !is_value && is_setting(word)) named.emplace_back(kSet);
    after_setting = is_value || (after_setting && is_setting(word)) || word.starts_with("--set=");
    named.push_back(word);
  }
  return named;
}

}  // namespace bridgemark::cli
