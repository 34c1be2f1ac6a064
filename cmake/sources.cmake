# SPDX-License-Identifier: Apache-2.0
#
# The files of the C core, folder by folder in the order they depend on each other. Written out, not
# globbed: a new file is a decision. Where there are two files for one door, this chooses.
# scripts/check fails on a source that no list here names.

# What waiting threads sleep in.
if(INTERLOCK_PARK_BACKEND STREQUAL "futex")
    set(interlock_park_backend park/park_futex.c park/futex_linux.c)
elseif(INTERLOCK_PARK_BACKEND STREQUAL "pthread")
    set(interlock_park_backend park/park_table.c)
else()
    message(FATAL_ERROR "INTERLOCK_PARK_BACKEND is '${INTERLOCK_PARK_BACKEND}'; there are futex and pthread")
endif()

# What the operating system offers.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(interlock_system threads/identity_linux.c threads/membarrier_linux.c)
else()
    set(interlock_system threads/membarrier_none.c)
endif()

set(interlock_threads threads/clock.c threads/deadline.c threads/fence.c threads/native_pthread.c)
set(interlock_diagnostics diagnostics/misuse.c diagnostics/names.c diagnostics/status.c)
set(interlock_park park/queue_lock.c park/waiter.c)
set(interlock_rwlock rwlock/queue.c rwlock/rwlock.c)
set(interlock_semaphore semaphore/semaphore.c)
set(interlock_ring ring/spsc.c ring/allocate.c)

set(INTERLOCK_SOURCES
    ${interlock_system} ${interlock_threads} ${interlock_diagnostics} ${interlock_park_backend}
    ${interlock_park} ${interlock_rwlock} ${interlock_semaphore} ${interlock_ring})
list(TRANSFORM INTERLOCK_SOURCES PREPEND "${PROJECT_SOURCE_DIR}/Sources/CCore/")
