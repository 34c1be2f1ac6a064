/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling thread's stack through the unwinder of the compiler's runtime, and names of threads. See stack.h.
 */
#include "diagnostics/stack.h"

#include "platform/native.h"
#include <fcntl.h>
#include <interlock/diagnostics.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

/* Frames of the library between its caller and the capture. */
enum { FRAMES_BELOW = 12 };

struct captured {
    void *frames[ILK_STACK_FRAMES + FRAMES_BELOW];
    uint32_t count;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument) {
    struct captured *captured = argument;
    const uintptr_t address = (uintptr_t)_Unwind_GetIP(context);
    if (captured->count == ILK_STACK_FRAMES + FRAMES_BELOW || address == 0) {
        return _URC_END_OF_STACK;
    }
    captured->frames[captured->count++] = (void *)address;
    return _URC_NO_REASON;
}

ILK_NOINLINE uint32_t ilk__stack_capture(void **frames, const void *site) {
    struct captured captured = {.count = 0};
    (void)_Unwind_Backtrace(add_frame, &captured);
    uint32_t first = 0;
    while (first < captured.count && captured.frames[first] != site) {
        first++;
    }
    if (first == captured.count) {
        first = captured.count > 1 ? 1 : 0; /* this function */
    }
    const uint32_t above = captured.count - first;
    const uint32_t count = above < ILK_STACK_FRAMES ? above : ILK_STACK_FRAMES;
    memcpy(frames, captured.frames + first, count * sizeof *frames);
    return count;
}

void ilk__thread_name(uint32_t thread, char *name, uint32_t size) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%u/comm", (unsigned)thread);
    name[0] = '\0';
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    const ssize_t length = read(file, name, size - 1);
    (void)close(file);
    name[length > 0 ? length : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

void ilk__text_add_thread(struct ilk__text *text, uint32_t thread) {
    char name[32];
    ilk__thread_name(thread, name, sizeof name);
    ilk__text_add(text, "thread \"%s\" (%u)", name, (unsigned)thread);
}
