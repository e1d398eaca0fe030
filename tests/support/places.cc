#include "tests/support/places.h"

namespace bridgemark::testing {

std::string tested_program() { return BRIDGEMARK_TEST_PROGRAM; }

std::filesystem::path source_tree() { return BRIDGEMARK_TEST_TREE; }

std::filesystem::path golden_folder() { return source_tree() / "tests/golden"; }

}  // namespace bridgemark::testing
