/* SPDX-License-Identifier: Apache-2.0
 *
 * Apple systems: the threads of the Mach task, by their ports. By the documentation; never run. See thread_list.h.
 */
#include "diagnostics/thread_list.h"

#if defined(__APPLE__)

#include <mach/mach.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool ilk__threads_visit(void (*visit)(uint32_t thread, void *context), void *context) {
    thread_act_array_t threads = NULL;
    mach_msg_type_number_t count = 0;
    if (task_threads(mach_task_self(), &threads, &count) != KERN_SUCCESS) {
        return false;
    }
    for (mach_msg_type_number_t index = 0; index < count; index++) {
        visit((uint32_t)threads[index], context);
        (void)mach_port_deallocate(mach_task_self(), threads[index]);
    }
    (void)vm_deallocate(mach_task_self(), (vm_address_t)threads, count * sizeof *threads);
    return true;
}

void ilk__thread_name(uint32_t thread, char *name, uint32_t size) {
    const pthread_t handle = pthread_from_mach_thread_np((mach_port_t)thread);
    if (handle == NULL || pthread_getname_np(handle, name, size) != 0) {
        name[0] = '\0';
    }
}

void ilk__process_name(char *name, uint32_t size) {
    (void)strlcpy(name, getprogname(), size);
}

#endif
