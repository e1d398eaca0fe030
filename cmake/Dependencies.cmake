# Every dependency is a Debian package; scripts/install-packages.sh lists them. A machine that lacks
# some and cannot install any builds with their headers alone, found along CMAKE_PREFIX_PATH
# (bench/gpu.sh brings them along).
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(PkgConfig)

# bridgemark_find(PACKAGE TARGET HEADER [DEFINITION...]): the package, else an interface target of
# its headers with these definitions.
function(bridgemark_find package target header)
  find_package(${package} QUIET)
  if(TARGET ${target})
    return()
  endif()
  find_path(${package}_HEADERS ${header} PATH_SUFFIXES eigen3 REQUIRED)
  message(STATUS "${package}: headers in ${${package}_HEADERS}")
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${package}_HEADERS})
  target_compile_definitions(${target} INTERFACE ${ARGN})
endfunction()

bridgemark_find(Eigen3 Eigen3::Eigen Eigen/Dense)
bridgemark_find(fmt fmt::fmt fmt/format.h FMT_HEADER_ONLY)
bridgemark_find(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
bridgemark_find(CLI11 CLI11::CLI11 CLI/CLI.hpp)
bridgemark_find(Random123 Random123::Random123 Random123/philox.h)

# Highway picks the instruction set at run time with help of its library. With its headers alone
# the build is for the instruction set of this machine.
if(PkgConfig_FOUND)
  pkg_check_modules(HWY IMPORTED_TARGET libhwy)
  # OpenBLAS where it is installed; without it the dense products go through Eigen.
  pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
endif()
if(NOT HWY_FOUND)
  bridgemark_find(HWY PkgConfig::HWY hwy/highway.h HWY_COMPILE_ONLY_STATIC)
  target_compile_options(PkgConfig::HWY INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()
