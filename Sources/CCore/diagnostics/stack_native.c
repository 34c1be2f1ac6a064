/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling thread's stack through the unwinder of the compiler's runtime. See stack.h.
 */
#include "diagnostics/stack.h"

#include "diagnostics/thread_list.h"
#include <interlock/diagnostics.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#if defined(__GLIBC__) || defined(__APPLE__)
#include <unwind.h>
#endif

/* Frames of the library between its caller and the capture. */
enum { FRAMES_BELOW = 12, FRAMES_WALKED = ILK_STACK_FRAMES + FRAMES_BELOW };

#if defined(__GLIBC__) || defined(__APPLE__)
struct captured {
    void **frames;
    uint32_t count;
};

static _Unwind_Reason_Code add_captured(struct _Unwind_Context *context, void *argument) {
    struct captured *captured = argument;
    const uintptr_t address = (uintptr_t)_Unwind_GetIP(context);
    if (captured->count == FRAMES_WALKED || address == 0) {
        return _URC_END_OF_STACK;
    }
    captured->frames[captured->count++] = (void *)address;
    return _URC_NO_REASON;
}

static uint32_t walk_stack(void **frames) {
    struct captured captured = {.frames = frames};
    (void)_Unwind_Backtrace(add_captured, &captured);
    return captured.count;
}

struct line_search {
    const void *site;
    bool is_past_site;
    const void *line;
};

static _Unwind_Reason_Code find_line(struct _Unwind_Context *context, void *argument) {
    struct line_search *search = argument;
    const void *frame = (const void *)(uintptr_t)_Unwind_GetIP(context);
    search->is_past_site = search->is_past_site || frame == search->site;
    if (frame == NULL || !search->is_past_site || ilk__is_own_frame(frame)) {
        return frame != NULL ? _URC_NO_REASON : _URC_END_OF_STACK;
    }
    search->line = frame;
    return _URC_END_OF_STACK;
}

static const void *walk_to_line(const void *site) {
    struct line_search search = {.site = site};
    (void)_Unwind_Backtrace(find_line, &search);
    return search.line != NULL ? search.line : site;
}
#else
/* gcc's unwinder asks glibc for its tables: elsewhere a stack is the place of the call alone. */
static uint32_t walk_stack(void **frames) {
    (void)frames;
    return 0;
}

static const void *walk_to_line(const void *site) {
    return site;
}
#endif

ILK_NOINLINE uint32_t ilk__stack_capture(void **frames, const void *site) {
    void *walked[FRAMES_WALKED];
    const uint32_t walked_count = walk_stack(walked);
    if (walked_count == 0) {
        memcpy(frames, &site, sizeof site);
        return site != NULL ? 1 : 0;
    }
    uint32_t first = 0;
    while (first < walked_count && walked[first] != site) {
        first++;
    }
    if (first == walked_count) {
        first = walked_count > 2 ? 2 : 0; /* this function and the walk */
    }
    const uint32_t above = walked_count - first;
    const uint32_t count = above < ILK_STACK_FRAMES ? above : ILK_STACK_FRAMES;
    memcpy(frames, walked + first, count * sizeof *frames);
    return count;
}

uint32_t ilk__stack_first(void *const *frames, uint32_t depth) {
    uint32_t first = 0;
    while (first < depth && ilk__is_own_frame(frames[first])) {
        first++;
    }
    return first < depth ? first : 0;
}

const void *ilk__stack_line(const void *site) {
    return ilk__is_own_frame(site) ? walk_to_line(site) : site;
}

void ilk__text_add_thread(struct ilk__text *text, uint32_t thread) {
    char name[32];
    ilk__thread_name(thread, name, sizeof name);
    ilk__text_add(text, "thread \"%s\" (%u)", name, (unsigned)thread);
}
