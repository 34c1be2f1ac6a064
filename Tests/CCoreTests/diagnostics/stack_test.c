/* SPDX-License-Identifier: Apache-2.0
 *
 * Which frames of a stack are Interlock's, and what the functions of frames are called. The linker puts the test where
 * names are looked up: a frame's function is what a test says.
 */
#include "diagnostics/demangle.h"
#include "diagnostics/reports.h"
#include "diagnostics/stack.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

static const char *function, *plain;
static const char *(*function_of)(const void *frame);
static unsigned asked;

const char *__real_ilk__frame_function(const void *frame);
const char *__wrap_ilk__frame_function(const void *frame);
char *__wrap_ilk__demangled(const char *name);

const char *__wrap_ilk__frame_function(const void *frame) {
    asked++;
    return function_of != NULL ? function_of(frame) : function;
}

char *__wrap_ilk__demangled(const char *name) {
    (void)name;
    return plain != NULL ? strdup(plain) : NULL;
}

enum { FRAMES = 1 << 13, APART = 16 };
static char code[FRAMES * APART];

static const void *frame_at(size_t index) {
    return &code[index * APART];
}

static void a_frame_is_interlocks_by_the_name_of_its_function(void **state) {
    (void)state;
    static const struct {
        const char *function, *plain;
        bool is_own;
    } cases[] = {
        {NULL, NULL, false},
        {"main", NULL, false},
        {"silk_lock", NULL, false},
        {"ilk_mutex_lock", NULL, true},
        {"ilk__watch_begin", NULL, true},
        {"_ZN9interlock5mutex4lockEv", NULL, true},
        {"_ZNK9interlock5mutex4nameEv", NULL, true},
        {"_ZN10interlocks5mutex4lockEv", NULL, false},
        {"_ZNSt10lock_guardIN9interlock5mutexEEC2ERS1_", NULL, true},
        {"_ZNKSt11unique_lockIN9interlock5mutexEE5mutexEv", NULL, true},
        {"_ZNSt10lock_guardISt5mutexEC2ERS0_", NULL, false},
        {"_Z4withRN9interlock5mutexE", NULL, false},
        {"$s9Interlock9SafeArrayC8popFirstxSgyF", NULL, true},
        {"$s9Interlock9SafeArrayC8popFirstxSgyF", "Interlock.SafeArray.popFirst() -> A?", true},
        {"$s9Interlock9SafeArrayC4mainE3sumSiyF",
         "(extension in main):Interlock.SafeArray.sum() -> Swift.Int", false},
        {"$s9Interlock9SafeArrayC14InterlockTestsE3sumSiyF",
         "(extension in InterlockTests):Interlock.SafeArray.sum()", false},
        {"$s14InterlockTests3sumSiyF", NULL, false},
        {"$s4main3sumSiyF", "main.sum() -> Swift.Int", false},
        {"$s4main3sumSiyFTR", NULL, true},
        {"$s4main3sumSiyFTRTA", NULL, true},
        {"$sSa9InterlockE6lockeds9SafeArrayCyxGyF", "(extension in Interlock):Swift.Array.locked()", true},
        {"$sSTsE3mapySayqd__Gqd__7ElementQzKXEKlF", "(extension in Swift):Swift.Sequence.map<A>()", true},
        {"$sSa4mainE3sumSiyF", "(extension in main):Swift.Array.sum() -> Swift.Int", false},
        {"$ss17withUnsafePointer2to_q0_x_q0_SPyxGq_YKXE", "Swift.withUnsafePointer()", true},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        function = cases[index].function;
        plain = cases[index].plain;
        const bool is_own = ilk__is_own_frame(frame_at(index));
        if (is_own != cases[index].is_own) {
            fail_msg("%s (%s) is %staken for a function of Interlock's", function, plain,
                     is_own ? "" : "not ");
        }
    }
}

/* ---- Answers ---- */

static const char *every_other(const void *frame) {
    return (uintptr_t)frame & APART ? "ilk_call" : "main";
}

/* More frames than there are places for answers: many have one in common. */
static void each_frame_has_its_own_answer(void **state) {
    (void)state;
    function_of = every_other;
    for (int round = 0; round < 2; round++) {
        for (size_t index = 0; index < FRAMES; index++) {
            const void *frame = frame_at(index);
            check_equal(ilk__is_own_frame(frame), ((uintptr_t)frame & APART) != 0);
        }
    }
}

static void a_frame_is_looked_up_once(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        function = "main";
        check(!ilk__is_own_frame(frame_at(0)));
        function = "ilk_call";
        check(ilk__is_own_frame(frame_at(1)));
    }
    check_equal(asked, 2);
}

/* ---- The first frame outside ---- */

static void a_stack_begins_outside_the_library(void **state) {
    (void)state;
    function_of = every_other;
    const size_t own = ((uintptr_t)frame_at(0) & APART) == 0; /* every second frame is */
    void *const frames[] = {(void *)frame_at(own), (void *)frame_at(own + 2), (void *)frame_at(own + 1),
                            (void *)frame_at(own + 4)};
    check_equal(ilk__stack_first(frames, 4), 2);
    check_equal(ilk__stack_first(frames + 2, 2), 0);
    check_equal(ilk__stack_first(frames, 0), 0);
}

static void a_stack_of_the_library_alone_is_shown_whole(void **state) {
    (void)state;
    function = "ilk_call";
    void *const frames[] = {(void *)frame_at(0), (void *)frame_at(1)};
    check_equal(ilk__stack_first(frames, 2), 0);
    const void *site = __builtin_return_address(0);
    check_equal((uintptr_t)ilk__stack_line(site), (uintptr_t)site);
}

/* ---- Names ---- */

/* The call may be the last instruction of its function: one that does not return. */
static void a_return_address_is_of_the_function_before_it(void **state) {
    (void)state;
    const char *begin = (const char *)(uintptr_t)a_frame_is_looked_up_once;
    const char *name = __real_ilk__frame_function(begin + 1);
    check(name != NULL);
    check_text(name, "a_frame_is_looked_up_once");
    name = __real_ilk__frame_function(begin);
    check(name == NULL || strcmp(name, "a_frame_is_looked_up_once") != 0);
}

/* Those that others may call are all that it tells. */
static void functions_of_a_stripped_library_have_names(void **state) {
    (void)state;
    check(__real_ilk__frame_function((const char *)(uintptr_t)qsort + 1) != NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_frame_is_interlocks_by_the_name_of_its_function),
    cmocka_unit_test(each_frame_has_its_own_answer),
    cmocka_unit_test(a_frame_is_looked_up_once),
    cmocka_unit_test(a_stack_begins_outside_the_library),
    cmocka_unit_test(a_stack_of_the_library_alone_is_shown_whole),
    cmocka_unit_test(a_return_address_is_of_the_function_before_it),
    cmocka_unit_test(functions_of_a_stripped_library_have_names),
};

TEST_MAIN(tests)
