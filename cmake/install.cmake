# What is installed: the headers, a CMake package and a file for pkg-config.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.hpp PATTERN *.cuh)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/kq)
install(TARGETS kq EXPORT kq INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT kq NAMESPACE kq:: FILE kqTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kqConfig.cmake.in kqConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what uses another.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(kqConfigVersion.cmake COMPATIBILITY ${compatibility}
                                 ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kqConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/kqConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/kqCCCL.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH include_from_pkgconfig ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig
     ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/kq.pc.in kq.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kq.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
