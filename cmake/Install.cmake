# `cmake --install`: the library with its public headers, the program, and the CMake package that
# find_package(bridgemark) reads.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/bridgemark)

install(TARGETS bridgemark EXPORT bridgemarkTargets FILE_SET HEADERS FILE_SET generated)
install(EXPORT bridgemarkTargets NAMESPACE bridgemark:: DESTINATION ${package_folder})
if(BRIDGEMARK_CLI)
  # The program finds a shared library beside it.
  foreach(program IN ITEMS bridgemark_cli bridgemark_cli_mpi)
    if(TARGET ${program})
      set_target_properties(${program} PROPERTIES
        INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
      install(TARGETS ${program})
    endif()
  endforeach()
  if(NOT CMAKE_CROSSCOMPILING)  # the program itself writes them
    install(CODE "set(program \"$<TARGET_FILE:bridgemark_cli>\")
      set(data \"${CMAKE_INSTALL_FULL_DATADIR}\")
      set(manuals \"${CMAKE_INSTALL_FULL_MANDIR}/man1\")")
    install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstallShell.cmake)
  endif()
endif()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/bridgemarkConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/bridgemarkConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/package/bridgemarkConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES
    ${PROJECT_BINARY_DIR}/package/bridgemarkConfig.cmake
    ${PROJECT_BINARY_DIR}/package/bridgemarkConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/FindHeaders.cmake
  DESTINATION ${package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
