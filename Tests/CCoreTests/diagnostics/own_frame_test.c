/* SPDX-License-Identifier: Apache-2.0
 *
 * Which frames of a stack come before the program's line. The linker puts the test in place of the symbol tables and
 * of Swift's demangler.
 */
/* contract: docs/diagnosis.md */
#include "diagnostics/stack.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

static unsigned readings;
static const char *fake_name, *fake_module, *fake_plain;
static const char *(*fake_name_of)(const void *frame);

char *__wrap_ilk__demangled(const char *name);

char *__wrap_ilk__demangled(const char *name) {
    return fake_plain != NULL ? strdup(fake_plain) : NULL;
}

const char *__real_ilk__frame_function(const void *frame, char module[ILK__MODULE_SIZE]);
const char *__wrap_ilk__frame_function(const void *frame, char module[ILK__MODULE_SIZE]);

const char *__wrap_ilk__frame_function(const void *frame, char module[ILK__MODULE_SIZE]) {
    readings++;
    strcpy(module, fake_module);
    return fake_name_of != NULL ? fake_name_of(frame) : fake_name;
}

/* A frame that no test has asked about yet, somewhere: many share a place of a table. */
static void *next_frame(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (void *)(uintptr_t)((state >> 17 & ~(uint64_t)3) | 0x1000);
}

static bool is_own(const char *name, const char *module) {
    fake_name = name;
    fake_module = module;
    return ilk__is_own_frame(next_frame());
}

TEST(frames_of_interlock_and_of_lock_wrappers_are_no_lines) {
    static const char *const names[] = {
        "ilk_mutex_lock",
        "ilk__pool_work",
        "$s13InterlockSync13ReadWriteLockVAARi_zrlE04withC4Lockyqd__qd__xzqd_0_YKXEqd_0_YKlF",
        "$s13InterlockPool03JobB0C3runyyF",
        "$s19InterlockOperations3GCDO4syncyyF",
        "$sytIegr_Ieg_TR", /* a thunk */
        "$sytIegr_Ieg_TRTA",
        "$ss32_copyCollectionToContiguousArrayys0dE0Vy7ElementQzGxSlRzlF",
        "_ZN9interlock5mutex4lockEv",
        "_ZNK9interlock10semaphore_3getEv",
        "_ZNSt10lock_guardIN9interlock5mutexEEC2ERS1_",
        "_ZNSt11unique_lockIN9interlock5mutexEE4lockEv",
        "_ZNSt11scoped_lockIJN9interlock5mutexES1_EEC2ERS1_S3_",
        "_ZNSt3__110lock_guardIN9interlock5mutexEEC2B8ne180100ERS2_",
        "_ZSt4lockIN9interlock5mutexES1_JEEvRT_RT0_DpRT1_",
        "_ZSt4lockISt11unique_lockIN9interlock5mutexEES3_JEEvRT_RT0_DpRT1_",
        "_ZNSt8__detail11__lock_implIN9interlock5mutexEJS2_S2_EEEiRiiRT_DpRT0_",
        "_ZNSt3_V222condition_variable_any4waitISt11unique_lockIN9interlock5mutexEEEEvRT_",
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        if (!is_own(names[index], "exe")) {
            fail_msg("%s is a line of the program", names[index]);
        }
    }
}

/* Optimised, each has the program's lambda in it. */
TEST(functions_that_may_have_the_programs_inlined_are_lines) {
    static const char *const names[] = {
        "main",
        "interlocked",
        "$s8accounts4bookyyF",
        "_Z4bookRN9interlock5mutexE",
        "_ZZ4bookRN9interlock5mutexEENK3$_0clEv",
        "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4bookRN9interlock5mutexEE3$_0EEEEE6_M_runEv",
        "_ZNSt17_Function_handlerIFvvEZ4bookRN9interlock5mutexEE3$_0E9_M_invokeERKSt9_Any_data",
        "_ZSt13__invoke_implIvZ4bookRN9interlock5mutexEE3$_0JEET_St14__invoke_otherOT0_DpOT1_",
        "_ZN9interlock6detail7task_ofIZ4bookvE3$_0E3runEPv",
        "_ZNSt10lock_guardI5latchEC2ERS0_",
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        if (is_own(names[index], "exe")) {
            fail_msg("%s is not a line of the program", names[index]);
        }
    }
    assert_false(is_own(NULL, "exe")); /* stripped */
    assert_false(is_own(NULL, ""));
    assert_false(is_own(NULL, "libaccounts.so"));
}

/* What the program adds to a type of another module is named after that module. */
TEST(the_programs_extensions_are_lines) {
    static const struct {
        const char *name, *plain;
        bool is_own;
    } functions[] = {
        {"$s13InterlockSync5LatchC4waityyF", "InterlockSync.Latch.wait() -> ()", true},
        {"$sSa13InterlockSyncE6lockedyyF", "(extension in InterlockSync):Swift.Array.locked() -> ()", true},
        {"$sSTsE7forEachyyy", "(extension in Swift):Swift.Sequence.forEach((A) -> ()) -> ()", true},
        {"$sSiSHsSH4hash4intoys6HasherVz_tFTW",
         "protocol witness for Swift.Hashable.hash(into: inout Swift.Hasher) -> () in conformance Swift.Int "
         ": "
         "Swift.Hashable in Swift",
         true},
        {"$s13InterlockSync5LatchCAAE",
         "closure #1 () -> () in (extension in InterlockSync):InterlockSync.Latch.f() -> ()", true},
        {"$s13InterlockSync5LatchC4BookE", "(extension in Book):InterlockSync.Latch.f() -> ()", false},
        {"$s13InterlockSync5LatchC10InterlockKE", "(extension in InterlockKit):InterlockSync.Latch.f() -> ()",
         false},
        {"$sSa16InterlockSyncKitE", "(extension in InterlockSyncKit):Swift.Array.f() -> ()", false},
        {"$s13InterlockSync13ReadWriteLockV4BookE",
         "closure #1 ((A) -> (extension in InterlockSync):InterlockSync.ReadWriteLock<A>.UpgradableView) -> "
         "() in "
         "(extension in "
         "Book):InterlockSync.ReadWriteLock.f() -> ()",
         false},
        {"$sSa4BookE", "(extension in Book):Swift.Array.f((extension in Swift):Swift.Sequence.Element) -> ()",
         false},
        {"$sSi4Book6VisitsA2aBP5visityyFTW",
         "protocol witness for Book.Visits.visit() -> () in conformance Swift.Int : Book.Visits in Book",
         false},
        {"$s13InterlockSync5LatchC4Book6VisitsA2aBP5visityyFTWTm",
         "merged protocol witness for Book.Visits.visit() -> () in conformance InterlockSync.Latch : "
         "Book.Visits "
         "in Book",
         false},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        fake_plain = functions[index].plain;
        if (is_own(functions[index].name, "exe") != functions[index].is_own) {
            fail_msg("%s is%s a line of the program", fake_plain, functions[index].is_own ? "" : " not");
        }
    }
    fake_plain = NULL;
}

/*   ilk_mutex_lock              ilk_mutex_lock
 *   sort (libc)                 run, in which all of the program's is inlined
 *   book            <- line     start_thread (libc)                 no line: all are shown   */
TEST(a_frame_of_the_system_is_no_line) {
    static const char *const modules[] = {"libc.so.6", "libstdc++.so.6", "libdispatch.so",
                                          "libswift_Concurrency.so"};
    for (size_t index = 0; index < sizeof modules / sizeof *modules; index++) {
        void *own = next_frame(), *system = next_frame(), *program = next_frame();
        fake_name = "ilk_mutex_lock", fake_module = "exe";
        assert_true(ilk__is_own_frame(own));
        fake_name = NULL, fake_module = modules[index];
        assert_true(ilk__is_own_frame(system));
        fake_name = "book", fake_module = "exe";
        assert_false(ilk__is_own_frame(program));
        void *const called_back[] = {own, system, program, system};
        assert_int_equal(ilk__stack_first(called_back, 4), 2);
        void *const inlined[] = {own, own, system, system};
        assert_int_equal(ilk__stack_first(inlined, 4), 0);
    }
}

TEST(a_frame_is_looked_up_once) {
    enum { FRAMES = 300 };
    void *frames[FRAMES];
    fake_name = "book", fake_module = "exe";
    for (unsigned index = 0; index < FRAMES; index++) {
        frames[index] = next_frame();
        assert_false(ilk__is_own_frame(frames[index]));
    }
    readings = 0;
    for (unsigned index = 0; index < FRAMES; index++) {
        assert_false(ilk__is_own_frame(frames[index]));
    }
    assert_int_equal(readings, 0);
}

static const char *every_other(const void *frame) {
    return (uintptr_t)frame & 16 ? "ilk_call" : "main";
}

/* More frames than there are places for answers: many have one in common. */
TEST(each_frame_has_its_own_answer) {
    enum { FRAMES = 1 << 14 };
    static char code[FRAMES * 16];
    fake_module = "exe";
    fake_name_of = every_other;
    for (int round = 0; round < 2; round++) {
        for (size_t index = 0; index < FRAMES; index++) {
            const void *frame = &code[index * 16];
            assert_int_equal(ilk__is_own_frame(frame), ((uintptr_t)frame & 16) != 0);
        }
    }
    fake_name_of = NULL;
}

TEST(a_stack_of_the_library_alone_is_shown_whole) {
    fake_name = "ilk_call", fake_module = "exe";
    void *const frames[] = {next_frame(), next_frame()};
    assert_int_equal(ilk__stack_first(frames, 2), 0);
    assert_int_equal(ilk__stack_first(frames, 0), 0);
    const void *site = __builtin_return_address(0);
    assert_ptr_equal(ilk__stack_line(site), site);
}

/* The call may be the last instruction of its function: one that does not return. */
TEST(a_return_address_is_of_the_function_before_it) {
    char module[ILK__MODULE_SIZE];
    const char *begin = (const char *)(uintptr_t)a_frame_is_looked_up_once;
    const char *name = __real_ilk__frame_function(begin + 1, module);
    assert_non_null(name);
    assert_string_equal(name, "a_frame_is_looked_up_once");
    name = __real_ilk__frame_function(begin, module);
    assert_true(name == NULL || strcmp(name, "a_frame_is_looked_up_once") != 0);
}

/* Those that others may call are all that it tells. */
TEST(functions_of_a_stripped_library_have_names) {
    char module[ILK__MODULE_SIZE];
    assert_non_null(__real_ilk__frame_function((const char *)(uintptr_t)qsort + 1, module));
}
