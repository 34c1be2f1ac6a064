/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of the process, as send rights; semaphores.
 */
#ifndef INTERLOCK_STUB_MACH_MACH_H
#define INTERLOCK_STUB_MACH_MACH_H

#include <pthread.h>
#include <sys/types.h>

typedef int kern_return_t;
typedef unsigned int natural_t;
typedef mach_port_t task_t;
typedef mach_port_t task_inspect_t;
typedef mach_port_t thread_act_t;
typedef thread_act_t *thread_act_array_t;
typedef natural_t mach_msg_type_number_t;
typedef uintptr_t vm_address_t;
typedef uintptr_t vm_size_t;

#define KERN_SUCCESS 0

extern mach_port_t mach_task_self_;
#define mach_task_self() mach_task_self_

kern_return_t task_threads(task_inspect_t task, thread_act_array_t *threads, mach_msg_type_number_t *count);
kern_return_t mach_port_deallocate(mach_port_t task, mach_port_t name);
kern_return_t vm_deallocate(mach_port_t task, vm_address_t address, vm_size_t size);

typedef mach_port_t semaphore_t;
typedef struct mach_timespec {
    unsigned int tv_sec;
    int tv_nsec;
} mach_timespec_t;
#define SYNC_POLICY_FIFO 0

kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value);
kern_return_t semaphore_signal(semaphore_t semaphore);
kern_return_t semaphore_wait(semaphore_t semaphore);
kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t wait_time);

#endif
