#pragma once

#include <string>
#include <vector>

namespace bridgemark::cli {

/// The program's arguments with `--set` before each of the settings that follow one:
/// `--set a=1 b=2` is `--set a=1 --set b=2`.
std::vector<std::string> with_each_setting_named(const std::vector<std::string>& arguments);

}  // namespace bridgemark::cli
