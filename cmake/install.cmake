# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` installs, in three components: runtime (the shared library), development (headers, the link to
# it, the static library, package files), documentation. The target uninstall removes what the last installation wrote.
#
# Of these: headers, the libraries that were chosen, interlock.pc, interlock-static.pc, and the package files for
# find_package(interlock), which define interlock::shared, interlock::static, and interlock::interlock for one of them.
# The two libraries are exported separately, because only users of the static one need libbsd.
include(CMakePackageConfigHelpers)
set(interlock_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/interlock")

foreach(kind IN LISTS interlock_kinds)
    install(TARGETS interlock_${kind} EXPORT interlock-${kind}
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
    install(EXPORT interlock-${kind} NAMESPACE interlock:: DESTINATION "${interlock_package_folder}"
        COMPONENT development)
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/interlock" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT development
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp"
    PATTERN "thread_access.h" EXCLUDE # for the Swift facade, which is not installed
    PATTERN "diagnose.h" EXCLUDE
    PATTERN "descriptor_set.h" EXCLUDE
    PATTERN "owned_rwlock.h" EXCLUDE
    PATTERN "awaited.h" EXCLUDE
    PATTERN "notified_set.h" EXCLUDE
    PATTERN "visited.h" EXCLUDE
    PATTERN "passes.h" EXCLUDE)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/interlockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/interlockConfig.cmake" INSTALL_DESTINATION "${interlock_package_folder}")
# Before 1.0 a minor version may break: 0.2 does not satisfy a request for 0.1.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/interlockConfig.cmake"
    "${PROJECT_BINARY_DIR}/interlockConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindLibBSD.cmake"
    DESTINATION "${interlock_package_folder}" COMPONENT development)

# In interlock.pc, folders below the prefix are relative to the file itself, so that an installation can be moved;
# folders given as absolute paths stay absolute.
foreach(folder INCLUDEDIR LIBDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
        set(interlock_pc_${folder} "${CMAKE_INSTALL_${folder}}")
    else()
        set(interlock_pc_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
    endif()
endforeach()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(interlock_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH interlock_pc_prefix
        "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
    string(PREPEND interlock_pc_prefix "\${pcfiledir}/")
endif()
# A user of a checked build is checked, too: the inline halves of the calls are compiled into the program.
set(interlock_pc_definitions)
if(INTERLOCK_CHECKED)
    set(interlock_pc_definitions " -DILK_CHECKED")
endif()
# What a link of the static library needs beside it. `pkg-config --static` is for programs without any shared library:
# interlock-static.pc names the archive itself, because -linterlock takes the shared library where both are.
set(interlock_pc_static_requires)
set(interlock_pc_static_flags)
set(interlock_pc_archive "\${libdir}/libinterlock.a")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(interlock_pc_static_requires libbsd)
    set(interlock_pc_archive "-l:libinterlock.a")
    foreach(flag IN LISTS interlock_stay_loaded interlock_show_table)
        string(APPEND interlock_pc_static_flags " -Wl,${flag}")
    endforeach()
endif()
# interlock_write_pc NAME LIBRARY REQUIRED FLAGS STATIC-REQUIRED STATIC-FLAGS
function(interlock_write_pc interlock_pc_name interlock_pc_library interlock_pc_requires interlock_pc_flags
        interlock_pc_requires_private interlock_pc_libs_private)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/interlock.pc.in" "${PROJECT_BINARY_DIR}/${interlock_pc_name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${interlock_pc_name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT development)
endfunction()
if(shared IN_LIST interlock_kinds)
    interlock_write_pc(interlock -linterlock "" "" "${interlock_pc_static_requires}" "${interlock_pc_static_flags}")
else()
    interlock_write_pc(interlock -linterlock "${interlock_pc_static_requires}" "${interlock_pc_static_flags}" "" "")
endif()
if(static IN_LIST interlock_kinds)
    interlock_write_pc(interlock-static "${interlock_pc_archive}"
        "${interlock_pc_static_requires}" "${interlock_pc_static_flags}" "" "")
endif()

# What draws a report of the diagnosis, in a browser.
install(FILES "${PROJECT_SOURCE_DIR}/viewer/diagnosis.html" DESTINATION "${CMAKE_INSTALL_DATADIR}/interlock"
    COMPONENT development)

# ---- Documentation ----

foreach(name LICENSE CHANGELOG.md README.md)
    install(FILES "${PROJECT_SOURCE_DIR}/${name}" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT documentation)
endforeach()
# Those for C: the rest is about Swift, or about changing Interlock.
foreach(name abi c diagnosis fork glossary memory-model pool rings rwlock)
    install(FILES "${PROJECT_SOURCE_DIR}/docs/${name}.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs"
        COMPONENT documentation)
endforeach()

# The pages of section 3, made of the headers' comments.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(interlock_is_top_level AND Python3_Interpreter_FOUND)
    file(GLOB interlock_documented CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/interlock/*.h")
    set(interlock_man_script "${PROJECT_SOURCE_DIR}/scripts/lib/man_pages.py")
    string(TIMESTAMP interlock_date "%Y-%m-%d" UTC) # SOURCE_DATE_EPOCH, where it is set
    add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/man3/interlock.3"
        COMMAND Python3::Interpreter "${interlock_man_script}" "${PROJECT_SOURCE_DIR}/include"
            "${PROJECT_BINARY_DIR}/man3" ${PROJECT_VERSION} ${interlock_date}
        DEPENDS ${interlock_documented} "${interlock_man_script}"
        COMMENT "Making the man pages" VERBATIM)
    add_custom_target(interlock_man ALL DEPENDS "${PROJECT_BINARY_DIR}/man3/interlock.3")
    install(DIRECTORY "${PROJECT_BINARY_DIR}/man3" DESTINATION "${CMAKE_INSTALL_MANDIR}"
        COMPONENT development FILES_MATCHING PATTERN "*.3")
elseif(interlock_is_top_level)
    message(STATUS "No man pages: they need Python 3")
endif()

# ---- Removal ----

if(interlock_is_top_level)
    add_custom_target(uninstall
        COMMAND "${CMAKE_COMMAND}" -D "MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt"
            -P "${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake"
        COMMENT "Removing what the last installation wrote" VERBATIM)
endif()

if(interlock_is_top_level AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    include(package)
endif()
