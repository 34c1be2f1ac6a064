# SPDX-License-Identifier: Apache-2.0
#
# Run by CPack before it builds each package: what Debian's policy asks of one. Documents are in a folder of the
# package's name, with copyright and changelog; man pages are compressed; the libraries have no debugging information;
# everything can be read by all, whatever the umask. Compression leaves out names and times, so that the same sources make
# the same package.
file(GLOB trees LIST_DIRECTORIES ON "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set

function(compress)
    if(ARGN)
        execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
    endif()
endfunction()

foreach(tree IN LISTS trees)
    get_filename_component(name "${tree}" NAME)
    string(TOUPPER "${name}" group)
    set(package "${CPACK_DEBIAN_${group}_PACKAGE_NAME}")
    if(NOT package)
        continue()
    endif()
    set(share "${tree}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
    set(documents "${share}/doc/${package}")
    if(EXISTS "${share}/doc/interlock")
        file(RENAME "${share}/doc/interlock" "${documents}")
        file(REMOVE "${documents}/LICENSE") # copyright says where Debian has it
        file(RENAME "${documents}/CHANGELOG.md" "${documents}/changelog")
        compress("${documents}/changelog")
    endif()
    file(MAKE_DIRECTORY "${documents}" "${share}/lintian/overrides")
    file(COPY "${CMAKE_CURRENT_LIST_DIR}/copyright" DESTINATION "${documents}" NO_SOURCE_PERMISSIONS)
    file(WRITE "${documents}/changelog.Debian"
        "interlock (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
        "  * Built by CPack from the sources of Interlock ${CPACK_PACKAGE_VERSION}.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    compress("${documents}/changelog.Debian")
    configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.overrides" "${share}/lintian/overrides/${package}" COPYONLY)
    file(GLOB pages "${share}/man/man3/*.3")
    compress(${pages})
    file(GLOB_RECURSE archives "${tree}/*.a")
    foreach(archive IN LISTS archives)
        execute_process(COMMAND strip --strip-debug --enable-deterministic-archives --remove-section=.comment
            "${archive}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    file(GLOB_RECURSE libraries "${tree}/*.so.*.*.*")
    foreach(library IN LISTS libraries)
        execute_process(COMMAND strip --strip-unneeded --remove-section=.comment "${library}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    execute_process(COMMAND chmod -R u=rwX,go=rX "${tree}" COMMAND_ERROR_IS_FATAL ANY) # follows no link
endforeach()
