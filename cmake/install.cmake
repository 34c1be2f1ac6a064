# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where: headers, both libraries, the package file for
# find_package(interlock) (targets interlock::interlock and interlock::static) and interlock.pc.
include(CMakePackageConfigHelpers)
set(interlock_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/interlock")

install(TARGETS interlock_shared interlock_static EXPORT interlockTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/interlock" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.h")
install(EXPORT interlockTargets NAMESPACE interlock:: DESTINATION "${interlock_package_folder}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/interlockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/interlockConfig.cmake" INSTALL_DESTINATION "${interlock_package_folder}")
# Before 1.0 a minor version may break: 0.2 does not satisfy a request for 0.1.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/interlockConfig.cmake"
    "${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindLibBSD.cmake"
    DESTINATION "${interlock_package_folder}")

# Relative to the file's own place, so that an installation can be moved.
file(RELATIVE_PATH interlock_prefix_from_pc
    "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/interlock.pc.in" "${PROJECT_BINARY_DIR}/interlock.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/interlock.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
