#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// What the fuzzers share. Each is a file of this folder that defines read().
namespace bridgemark::fuzz {

// Hands bytes that anybody may have written to one reader. It may take them, or throw an Error of
// one line in words of our own; whatever else comes out of it is a fault.
void read(std::string_view bytes);

// Where one input is for several readers: each is judged by itself.
void attempt(const std::function<void()>& reading);

// A folder of this process below TMPDIR, which scripts/fuzz.sh removes, and a file in it.
const std::filesystem::path& folder();
std::filesystem::path put(const std::string& name, std::string_view bytes);

// The files that an input is made of: a line "%%" lies between two of them. Those that are left
// out are empty.
std::vector<std::string_view> split(std::string_view bytes, std::size_t count);

}  // namespace bridgemark::fuzz
