#pragma once

#include <filesystem>
#include <vector>

namespace bridgemark {

// Whether there is something, or a folder, under a path. False too where that cannot be told: a
// name longer than any file's, a folder that may not be searched. What opens it then says why.
bool path_exists(const std::filesystem::path& path) noexcept;
bool is_folder(const std::filesystem::path& path) noexcept;

// The paths in a folder, by their names. Throws FileError where it cannot be read.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

}  // namespace bridgemark
