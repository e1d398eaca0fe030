#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

// The temporary files behind atomic writes: their names, and how none is left behind.
namespace bridgemark {

// A new name beside the file that it is to become: .FILE.tmp-abc123.
std::string temporary_name(std::string_view file);

// Removes what a killed process left of these files in a folder. Call it under the folder's lock: a
// write at work there would lose its file.
void sweep_temporaries(const std::filesystem::path& folder, std::span<const char* const> files);

// Removes what killed processes left of one file in a folder: temporaries that nobody holds locked.
void sweep_unheld_temporaries(const std::filesystem::path& folder, std::string_view file);

// A temporary that remove_temporaries() knows, for as long as the object lives.
class RegisteredTemporary {
 public:
  RegisteredTemporary() = default;
  explicit RegisteredTemporary(const std::filesystem::path& path);
  ~RegisteredTemporary();
  RegisteredTemporary(RegisteredTemporary&& other) noexcept;
  RegisteredTemporary& operator=(RegisteredTemporary&& other) noexcept;

 private:
  int slot_ = -1;  // -1: none
};

// Unlinks every registered temporary of the process; for a signal handler that ends it.
void remove_temporaries() noexcept;

}  // namespace bridgemark
