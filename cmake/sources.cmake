# SPDX-License-Identifier: Apache-2.0
#
# The files of the C core, folder by folder, in the order of their dependencies. Written out, not globbed: a new file
# is a decision, and scripts/check fails on a file that is missing here. All ports to all systems are listed:
# each file is empty unless platform/port.h chooses it.
set(interlock_platform
    access clock condition_darwin condition_pthread deadline earlier_ids environment_native event_descriptor_linux
    event_descriptor_none exit_pthread futex_linux
    identity_darwin identity_linux local_native membarrier_linux membarrier_none native_pthread pages_native park_futex park_table
    requests_darwin requests_linux side_effects_pthread signals_native stay_loaded_native stores_native system_call_linux threads_native yield_native)
set(interlock_diagnostics
    demangle_native edges facade figures index misuse names objects observe order order_search own_frame_native records
    record_shares records_exit_pthread report_native rings settings_native snapshot_native stack_native status symbols_darwin
    symbols_native tables text thread_list_darwin thread_list_linux watchdog_native write_json write_text)
set(interlock_wait address_queue conditions event_count fence inbox queue_lock waiter watchers)
set(interlock_rwlock
    calls further_reads hand_over held lock mode owned queue reader_slots report slot_table_copies slot_table_elf.S slot_table_plain)
set(interlock_ring allocate mpmc mpmc_hook mpmc_in_place mpmc_overwrite mpmc_wait spsc spsc_wait spsc_watch)
set(interlock_pool fork group leaving outstanding pool queues registry submit threads timers waits watch
    worker)
set(interlock_condition await condition task_wait)
set(interlock_sync barrier latch mutex mutex_inherit_linux mutex_inherit_none recursive_mutex semaphore semaphore_queue)
set(interlock_wait_set member wait_set)

set(INTERLOCK_SOURCES)
foreach(folder platform diagnostics wait rwlock ring sync condition wait_set pool)
    foreach(name IN LISTS interlock_${folder})
        if(NOT name MATCHES "\\.S$") # assembly is marked as such, C is not
            string(APPEND name ".c")
        endif()
        list(APPEND INTERLOCK_SOURCES "${PROJECT_SOURCE_DIR}/Sources/CCore/${folder}/${name}")
    endforeach()
endforeach()

# What waiting threads sleep in. A definition, because platform/port.h decides for every build system.
set(INTERLOCK_DEFINITIONS)
if(INTERLOCK_PARK_BACKEND STREQUAL "pthread")
    list(APPEND INTERLOCK_DEFINITIONS ILK_PARK_BACKEND_PTHREAD)
elseif(NOT INTERLOCK_PARK_BACKEND STREQUAL "futex")
    message(FATAL_ERROR "INTERLOCK_PARK_BACKEND is '${INTERLOCK_PARK_BACKEND}'; there are futex and pthread")
elseif(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "INTERLOCK_PARK_BACKEND=futex needs Linux")
endif()
