/* SPDX-License-Identifier: Apache-2.0
 *
 * Which frames are not the line that a user looks for, by the names of their functions. See stack.h.
 */
#include "diagnostics/demangle.h"
#include "diagnostics/stack.h"
#include <interlock/inline/atomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Answers: the address shifted by one, and the answer in the lowest bit; each in one of the places from the one that
 * its address chooses. With one place each, two frames that share it would have the symbols read at each acquisition.
 * An address of a library that was unloaded since may get the answer of before: a report then names another frame. */
enum { ANSWERS = 4096, PLACES = 8 };
static ILK_ATOMIC(uintptr_t) answers[ANSWERS];

static bool begins(const char *name, const char *beginning) {
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static bool ends(const char *name, const char *ending) {
    const size_t length = strlen(name), size = strlen(ending);
    return length >= size && strcmp(name + length - size, ending) == 0;
}

/* The first "(extension in " that is in no brackets: others are of the types of arguments. */
static const char *find_extension(const char *plain) {
    static const char words[] = "(extension in ";
    unsigned depth = 0;
    for (const char *at = plain; *at != '\0'; at++) {
        if (depth == 0 && begins(at, words)) {
            return at + sizeof words - 1;
        }
        const bool is_arrow = *at == '>' && at > plain && at[-1] == '-';
        if (*at == '(' || *at == '<') {
            depth++;
        } else if (depth > 0 && !is_arrow && (*at == ')' || *at == '>')) {
            depth--;
        }
    }
    return NULL;
}

/* "Program" of "protocol witness for Program.Visits.visit() -> () in conformance Swift.Int : Program.Visits in
 * Program": the program's method may be inlined there. */
static const char *find_conformance(const char *plain) {
    static const char words[] = " in ";
    const char *module = NULL;
    if (strstr(plain, "protocol witness for ") != NULL) {
        for (const char *at = plain; (at = strstr(at, words)) != NULL;) {
            at += sizeof words - 1;
            module = at;
        }
    }
    return module;
}

static bool is_module(const char *named, const char *module) {
    return begins(named, module) && (named[strlen(module)] == ')' || named[strlen(module)] == '\0');
}

/* The modules of the Swift facade. */
static const struct {
    const char *name, *mangled;
} own_modules[] = {
    {"InterlockSync", "$s13InterlockSync"},
    {"InterlockPool", "$s13InterlockPool"},
    {"InterlockOperations", "$s19InterlockOperations"},
};
enum { OWN_MODULES = sizeof own_modules / sizeof *own_modules };

static bool is_own_module(const char *named) {
    for (int index = 0; index < OWN_MODULES; index++) {
        if (is_module(named, own_modules[index].name)) {
            return true;
        }
    }
    return false;
}

/* Whether a Swift function is declared where its type is, or else in an extension or a conformance of Interlock's, as
 * "(extension in InterlockSync):Swift.Array.locked()" is, or of the standard library's. */
static bool is_declared_there(const char *name, bool or_by_swift) {
    char *plain = ilk__demangled(name);
    const char *module = plain != NULL ? find_conformance(plain) : NULL;
    module = plain != NULL && module == NULL ? find_extension(plain) : module;
    const bool is_there =
        module == NULL || is_own_module(module) || (or_by_swift && is_module(module, "Swift"));
    free(plain);
    return is_there;
}

/* A mangled name begins with the module that declares the outermost type or function, also of closures and of what was
 * specialised in another module. */
static bool is_own_swift(const char *name) {
    for (int index = 0; index < OWN_MODULES; index++) {
        if (begins(name, own_modules[index].mangled)) {
            return is_declared_there(name, false);
        }
    }
    if (ends(name, "TR") || ends(name, "TRTA")) { /* thunks between two conventions of calling */
        return true;
    }
    /* The standard library, and what C declares. */
    return (begins(name, "$ss") || begins(name, "$sS")) && is_declared_there(name, true);
}

static const char *past(const char *name, const char *beginning) {
    return begins(name, beginning) ? name + strlen(beginning) : name;
}

/* What the standard library calls a lock's functions from: std::lock_guard<interlock::mutex>. No other function of it:
 * a thread's or a std::function's may have the program's inlined. */
static bool is_lock_wrapper(const char *name) {
    static const char *const wrappers[] = {"10lock_guardI",           "11unique_lockI", "11scoped_lockI",
                                           "11shared_lockI",          "4lockI",         "11__lock_implI",
                                           "22condition_variable_any"};
    name = past(past(name, "N"), "K");
    if (!begins(name, "St") || strstr(name, "9interlock") == NULL) {
        return false;
    }
    name = past(past(past(name + 2, "3__1"), "3_V2"), "8__detail");
    for (size_t index = 0; index < sizeof wrappers / sizeof *wrappers; index++) {
        if (begins(name, wrappers[index])) {
            return true;
        }
    }
    return false;
}

static bool is_own_cxx(const char *name) {
    if (begins(name, "_ZN9interlock") || begins(name, "_ZNK9interlock")) {
        return !begins(name, "_ZN9interlock6detail7task_ofI"); /* may have the program's callable inlined */
    }
    return is_lock_wrapper(name + 2);
}

bool ilk__is_own_function(const char *name) {
    if (begins(name, "$s")) {
        return is_own_swift(name);
    }
    return begins(name, "_Z") ? is_own_cxx(name) : begins(name, "ilk_");
}

/* Whether the file is a library of the system, where those are files of their own. */
static bool is_system_module(const char *module) {
    static const char *const modules[] = {
        "libc.",         "ld-",           "libpthread",    "libsystem_", "libstdc++",
        "libc++",        "libdispatch.",  "libswiftCore.", "libswift_",  "libswiftDispatch.",
        "libFoundation", "lib_Foundation"};
    for (size_t index = 0; index < sizeof modules / sizeof *modules; index++) {
        if (begins(module, modules[index])) {
            return true;
        }
    }
    return false;
}

static bool read_symbols(const void *frame) {
    char module[ILK__MODULE_SIZE];
    const char *name = ilk__frame_function(frame, module);
    return is_system_module(module) || (name != NULL && ilk__is_own_function(name));
}

bool ilk__is_own_frame(const void *frame) {
    const uintptr_t address = (uintptr_t)frame;
    const size_t first = (size_t)(address * (uint64_t)0x9E3779B97F4A7C15 >> 48); /* Fibonacci hashing */
    size_t free = first;
    for (size_t place = first; place < first + PLACES; place++) {
        /* OF1 relaxed: one word, the address and what its function's name says; another thread finds the same. */
        const uintptr_t known = ilk_atomic_load(&answers[place % ANSWERS], memory_order_relaxed);
        if (known >> 1 == address && known != 0) {
            return (known & 1) != 0;
        }
        if (known == 0) {
            free = place;
            break;
        }
    }
    const bool is_own = read_symbols(frame);
    ilk_atomic_store(&answers[free % ANSWERS], address << 1 | (uintptr_t)is_own,
                     memory_order_relaxed); /* OF1 */
    return is_own;
}
