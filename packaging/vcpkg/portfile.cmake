# A port for an overlay: vcpkg install bridgemark --overlay-ports=packaging. Its sources are the tree
# that it lies in. Not yet built by vcpkg.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES tools BRIDGEMARK_CLI)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${features}
    -DBRIDGEMARK_TESTS=OFF
    -DBRIDGEMARK_BENCH=OFF
    -DBRIDGEMARK_WERROR=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/bridgemark)
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES bridgemark AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
