#include "bridgemark/io/disk/paths.h"

#include <algorithm>
#include <system_error>

#include "bridgemark/core/error.h"

namespace bridgemark {

bool path_exists(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_folder(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error) throw_file(folder.string(), "the folder cannot be read: {}", error.message());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace bridgemark
