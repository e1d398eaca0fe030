# Every dependency is a Debian package; scripts/install-packages.sh lists them. A machine that lacks
# some and cannot install any builds with their headers alone, found along CMAKE_PREFIX_PATH
# (bench/gpu.sh brings them along).
include(${CMAKE_CURRENT_LIST_DIR}/FindHeaders.cmake)
# A project around this one links the library from outside of this folder.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(PkgConfig)

bridgemark_find(Eigen3 Eigen3::Eigen Eigen/Dense)
bridgemark_find(fmt fmt::fmt fmt/format.h FMT_HEADER_ONLY)
bridgemark_find(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
bridgemark_find(Random123 Random123::Random123 Random123/philox.h)
set(required Eigen3::Eigen fmt::fmt nlohmann_json::nlohmann_json Random123::Random123)
if(PROJECT_IS_TOP_LEVEL OR BRIDGEMARK_CLI OR BRIDGEMARK_TESTS OR BRIDGEMARK_BENCH)
  bridgemark_find(CLI11 CLI11::CLI11 CLI/CLI.hpp)
  list(APPEND required CLI11::CLI11)
endif()
foreach(target ${required})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${target} was not found: scripts/install-packages.sh installs it.")
  endif()
endforeach()

# Highway picks the instruction set at run time with help of its library. With its headers alone
# the build is for the instruction set of this machine.
if(PkgConfig_FOUND)
  pkg_check_modules(HWY IMPORTED_TARGET GLOBAL libhwy)
  # OpenBLAS where it is installed; without it the dense products go through Eigen.
  pkg_check_modules(OPENBLAS IMPORTED_TARGET GLOBAL openblas)
endif()
if(NOT HWY_FOUND)
  bridgemark_find(HWY PkgConfig::HWY hwy/highway.h HWY_COMPILE_ONLY_STATIC)
  if(NOT TARGET PkgConfig::HWY)
    message(FATAL_ERROR "Highway was not found: scripts/install-packages.sh installs it.")
  endif()
  target_compile_options(PkgConfig::HWY INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()
# For a build that only checks: kernels for one set of vectors of 16 bytes that every machine has.
if(BRIDGEMARK_ONE_INSTRUCTION_SET AND HWY_FOUND)
  target_compile_definitions(PkgConfig::HWY INTERFACE HWY_COMPILE_ONLY_STATIC)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(PkgConfig::HWY INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v2>)
  endif()
endif()
