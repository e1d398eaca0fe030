#include "bridgemark/io/paths.h"

#include <system_error>

namespace bridgemark {

bool path_exists(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_folder(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace bridgemark
