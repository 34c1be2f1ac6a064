# SPDX-License-Identifier: Apache-2.0
#
# Debian packages by `cpack -G DEB`: libinterlock0.2 (the shared library) and libinterlock-dev (all else). To be configured
# with -DCMAKE_INSTALL_PREFIX=/usr. cmake/debian/finish.cmake adds what Debian's policy asks for.
set(interlock_soname_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME interlock)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Interlock contributors <interlock@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "concurrency toolkit: locks, rings, worker pool")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_THREADS 1)

set(CPACK_COMPONENTS_ALL runtime development documentation)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_RUNTIME_GROUP library)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP dev)
set(CPACK_COMPONENT_DOCUMENTATION_GROUP dev)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/debian/finish.cmake")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "https://example.org/interlock")
set(CPACK_DEBIAN_PACKAGE_SOURCE interlock)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libinterlock${interlock_soname_version})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/cmake/debian/symbols" "${PROJECT_SOURCE_DIR}/cmake/debian/triggers"
    "${PROJECT_SOURCE_DIR}/cmake/debian/shlibs")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "Reader-writer locks, bounded rings, semaphores, latches, barriers, mutexes and
a worker pool for C programs. Waits take a deadline, rings can be closed and
drained, and misuse is reported in one sentence.

This package has the shared library.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libinterlock-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libinterlock${interlock_soname_version} (= ${PROJECT_VERSION}-1), libbsd-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Reader-writer locks, bounded rings, semaphores, latches, barriers, mutexes and
a worker pool for C and C++ programs.

This package has the headers, those for C++17 among them, the static library,
files for CMake and pkg-config, man pages and documents.")

include(CPack)
