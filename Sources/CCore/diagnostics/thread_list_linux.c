/* SPDX-License-Identifier: Apache-2.0
 *
 * Linux: the files of /proc/self/task. See thread_list.h.
 */
#include "diagnostics/thread_list.h"

#include "platform/port.h"
#include "platform/side_effects.h"

#if ILK__PORT_LINUX

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ilk__threads_visit(void (*visit)(uint32_t thread, void *context), void *context) {
    struct ilk__side_effects before;
    ilk__side_effects_hold(&before);
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        const unsigned long thread = strtoul(task->d_name, NULL, 10);
        if (thread != 0) {
            visit((uint32_t)thread, context);
        }
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
    ilk__side_effects_release(&before);
    return tasks != NULL;
}

void ilk__thread_name(uint32_t thread, char *name, uint32_t size) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%u/comm", (unsigned)thread);
    struct ilk__side_effects before;
    ilk__side_effects_hold(&before);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file >= 0 ? read(file, name, size - 1) : 0;
    if (file >= 0) {
        (void)close(file);
    }
    ilk__side_effects_release(&before);
    name[length > 0 ? length : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

/* The name of its first thread. */
void ilk__process_name(char *name, uint32_t size) {
    ilk__thread_name((uint32_t)getpid(), name, size);
}

#endif
