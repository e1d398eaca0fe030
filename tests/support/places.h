#pragma once

#include <filesystem>
#include <string>

// Where this build has what its tests run and read. One source knows these paths, so that ccache
// takes the objects of all others from a build of any clone.
namespace bridgemark::testing {

/// The program of this build.
std::string tested_program();

/// The root of the sources.
std::filesystem::path source_tree();

/// The reference values, tests/golden.
std::filesystem::path golden_folder();

}  // namespace bridgemark::testing
