/* SPDX-License-Identifier: Apache-2.0
 *
 * Which frames are not the line that a user looks for, told by the names of their functions. See stack.h.
 */
#include "diagnostics/demangle.h"
#include "diagnostics/stack.h"
#include <interlock/inline/atomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Answers, each in the place that its address chooses: the address shifted by one, and the answer in the lowest bit. An
 * address of a library that was unloaded since may get the answer of before: a report then names another frame. */
enum { ANSWERS = 1024 };
static ILK_ATOMIC(uintptr_t) answers[ANSWERS];

static bool begins(const char *name, const char *beginning) {
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static bool ends(const char *name, const char *ending) {
    const size_t length = strlen(name), size = strlen(ending);
    return length >= size && strcmp(name + length - size, ending) == 0;
}

/* The module of the extension that a Swift function is in, as in "(extension in Interlock):Swift.Array.locked()":
 * whether there is one, and it is `module`. */
static bool is_in_extension(const char *name, const char *module, bool *has_extension) {
    static const char words[] = "(extension in ";
    char *plain = ilk__demangled(name);
    const char *extension = plain != NULL ? strstr(plain, words) : NULL;
    *has_extension = extension != NULL;
    const bool is_it = extension != NULL && begins(extension + sizeof words - 1, module);
    free(plain);
    return is_it;
}

/* A mangled name begins with the module that declares the outermost type or function, also of closures and of what was
 * specialised in another module. */
static bool is_own_swift(const char *name) {
    bool has_extension;
    if (begins(name, "$s9Interlock")) {
        return is_in_extension(name, "Interlock)", &has_extension) || !has_extension;
    }
    if (ends(name, "TR") || ends(name, "TRTA")) { /* thunks between two conventions of calling */
        return true;
    }
    if (begins(name, "$ss") || begins(name, "$sS")) { /* the standard library, and what C declares */
        return is_in_extension(name, "Interlock)", &has_extension) || !has_extension ||
               is_in_extension(name, "Swift)", &has_extension);
    }
    return false;
}

static bool is_own_function(const char *name) {
    if (begins(name, "$s")) {
        return is_own_swift(name);
    }
    if (begins(name, "_ZN9interlock") || begins(name, "_ZNK9interlock")) {
        return true;
    }
    /* std::lock_guard<interlock::mutex> */
    if (begins(name, "_ZNSt") || begins(name, "_ZNKSt")) {
        return strstr(name, "9interlock") != NULL;
    }
    return begins(name, "ilk_");
}

bool ilk__is_own_frame(const void *frame) {
    const uintptr_t address = (uintptr_t)frame;
    ILK_ATOMIC(uintptr_t) *answer = &answers[(address >> 2 ^ address >> 12) % ANSWERS];
    /* OF1 relaxed: one word, the address and what its function's name says; another thread finds the same. */
    const uintptr_t known = ilk_atomic_load(answer, memory_order_relaxed);
    if (known >> 1 == address) {
        return (known & 1) != 0;
    }
    const char *name = ilk__frame_function(frame);
    const bool is_own = name != NULL && is_own_function(name);
    ilk_atomic_store(answer, address << 1 | (uintptr_t)is_own, memory_order_relaxed); /* OF1 */
    return is_own;
}
