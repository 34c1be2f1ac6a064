# SPDX-License-Identifier: Apache-2.0
#
# The files of the C core, folder by folder, from what depends on nothing to what depends on the rest.
# Written out, not globbed: a new file is a decision, and scripts/check fails on one that is missing
# here. Where several files do the same for different systems all are listed: each is empty unless
# threads/port.h chooses it.
set(interlock_threads
    access clock condition_darwin condition_pthread deadline exit_pthread fence former identity_darwin
    identity_linux local_native membarrier_linux membarrier_none native_pthread pages_native signals_native
    stores_native yield_native)
set(interlock_diagnostics misuse names status)
set(interlock_park futex_linux park_futex park_table queue_lock waiter)
set(interlock_rwlock held owned queue regime rwlock slots table_copies table_elf.S table_plain)
set(interlock_semaphore barrier latch mutex mutex_inherit_linux mutex_inherit_none semaphore)
set(interlock_ring allocate mpmc spsc)

set(INTERLOCK_SOURCES)
foreach(folder threads diagnostics park rwlock semaphore ring)
    foreach(name IN LISTS interlock_${folder})
        if(NOT name MATCHES "\\.S$") # assembly says so, C does not
            string(APPEND name ".c")
        endif()
        list(APPEND INTERLOCK_SOURCES "${PROJECT_SOURCE_DIR}/Sources/CCore/${folder}/${name}")
    endforeach()
endforeach()

# What waiting threads sleep in. A definition, because threads/port.h decides for every build system.
set(INTERLOCK_DEFINITIONS)
if(INTERLOCK_PARK_BACKEND STREQUAL "pthread")
    list(APPEND INTERLOCK_DEFINITIONS ILK_PARK_BACKEND_PTHREAD)
elseif(NOT INTERLOCK_PARK_BACKEND STREQUAL "futex")
    message(FATAL_ERROR "INTERLOCK_PARK_BACKEND is '${INTERLOCK_PARK_BACKEND}'; there are futex and pthread")
elseif(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "INTERLOCK_PARK_BACKEND=futex needs Linux")
endif()
