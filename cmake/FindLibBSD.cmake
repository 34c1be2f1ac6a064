# SPDX-License-Identifier: Apache-2.0
#
# Finds libbsd, the one library that the C core needs beside the system's: by pkg-config where that is installed,
# else by name. Defines LibBSD::LibBSD. Installed too, for programs that link the static library.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(PC_LibBSD QUIET libbsd)
endif()
find_path(LibBSD_INCLUDE_DIR NAMES bsd/sys/queue.h HINTS ${PC_LibBSD_INCLUDEDIR})
find_library(LibBSD_LIBRARY NAMES bsd HINTS ${PC_LibBSD_LIBDIR})
mark_as_advanced(LibBSD_INCLUDE_DIR LibBSD_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibBSD
    REQUIRED_VARS LibBSD_LIBRARY LibBSD_INCLUDE_DIR
    VERSION_VAR PC_LibBSD_VERSION
    REASON_FAILURE_MESSAGE "install it with: apt-get install libbsd-dev")

if(LibBSD_FOUND AND NOT TARGET LibBSD::LibBSD)
    add_library(LibBSD::LibBSD UNKNOWN IMPORTED)
    set_target_properties(LibBSD::LibBSD PROPERTIES
        IMPORTED_LOCATION "${LibBSD_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${LibBSD_INCLUDE_DIR}")
endif()
