# SPDX-License-Identifier: Apache-2.0
#
# The target uninstall: removes the files that the last `cmake --install` listed in MANIFEST, below DESTDIR as it did,
# and the folders named interlock that are empty then. A file that is gone already is no error.
if(NOT EXISTS "${MANIFEST}")
    get_filename_component(name "${MANIFEST}" NAME)
    message(FATAL_ERROR "nothing to remove: ${name} is not there, so nothing was installed from this build")
endif()
file(STRINGS "${MANIFEST}" files)
set(folders)
foreach(file IN LISTS files)
    set(file "$ENV{DESTDIR}${file}")
    message(STATUS "Removing ${file}")
    file(REMOVE "${file}")
    # The folders of Interlock that had it: .../interlock and those below.
    get_filename_component(folder "${file}" DIRECTORY)
    while(folder MATCHES "/interlock(/|$)")
        list(APPEND folders "${folder}")
        get_filename_component(folder "${folder}" DIRECTORY)
    endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING) # the inner ones first
foreach(folder IN LISTS folders)
    file(GLOB left "${folder}/*")
    if(IS_DIRECTORY "${folder}" AND NOT left)
        file(REMOVE_RECURSE "${folder}")
    endif()
endforeach()
file(REMOVE "${MANIFEST}")
