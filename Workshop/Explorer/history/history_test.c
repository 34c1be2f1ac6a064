/* SPDX-License-Identifier: Apache-2.0
 *
 * The history checker on known histories, for every model: right ones fit; wrong ones do not, and the report
 * blames the wrong operation; one wrong result in a long history is found in reasonable time.
 */
#include "models.h"
#include <stdlib.h>
#include <string.h>

static unsigned wrong, checked;

static ex_operation operation(unsigned thread, unsigned kind, uint64_t argument, uint64_t result,
                              uint64_t called, uint64_t returned) {
    return (ex_operation){.thread = thread,
                          .kind = kind,
                          .argument = argument,
                          .result = result,
                          .answered = returned != 0,
                          .called = called,
                          .returned = returned != 0 ? returned : UINT64_MAX};
}

/* `blamed`: a part of the explanation; NULL: the history must fit. */
static void expect(const char *claim, const ex_model *model, const void *parameters, ex_operation *operations,
                   size_t count, const char *blamed) {
    ex_history history = {operations, count, false};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    bool fits = ex_history_fits(&history, model, parameters, to);
    fclose(to);
    checked++;
    if (fits != (blamed == NULL)) {
        printf("WRONG %s: the history %s\n", claim, fits ? "fits" : "does not fit");
        wrong++;
    } else if (!fits && strstr(text, blamed) == NULL) {
        printf("WRONG %s: the explanation does not say \"%s\":\n%s", claim, blamed, text);
        wrong++;
    }
    free(text);
}

#define EXPECT(claim, model, parameters, blamed, ...)                                                        \
    do {                                                                                                     \
        ex_operation list[] = {__VA_ARGS__};                                                                 \
        expect((claim), (model), (parameters), list, sizeof list / sizeof list[0], (blamed));                \
    } while (0)

static void registers(void) {
    EXPECT("a read beside a write may see it or not", &ex_register, NULL, NULL,
           operation(1, EX_WRITE, 1, 0, 1, 10), operation(2, EX_READ, 0, 1, 2, 4),
           operation(3, EX_READ, 0, 1, 5, 6));
    EXPECT("a read after one that saw the new value sees it too", &ex_register, NULL, "read() = 0",
           operation(1, EX_WRITE, 1, 0, 1, 10), operation(2, EX_READ, 0, 1, 2, 4),
           operation(3, EX_READ, 0, 0, 5, 6));
    EXPECT("a write that never returned may have happened", &ex_register, NULL, NULL,
           operation(1, EX_WRITE, 7, 0, 1, 0), operation(2, EX_READ, 0, 7, 5, 6));
    EXPECT("or not", &ex_register, NULL, NULL, operation(1, EX_WRITE, 7, 0, 1, 0),
           operation(2, EX_READ, 0, 0, 5, 6));
    EXPECT("a value that was not written", &ex_register, NULL, "read() = 9",
           operation(1, EX_WRITE, 7, 0, 1, 2), operation(2, EX_READ, 0, 9, 3, 4));
}

static void queues(void) {
    const ex_queue_parameters exact = {.capacity = 2};
    const ex_queue_parameters inexact = {.capacity = 2, .inexact = true};
    const ex_queue_parameters late_pushes = {.capacity = 2, .late_pushes = true};
    EXPECT("pushes side by side come out in either order", &ex_bounded_queue, &exact, NULL,
           operation(1, EX_PUSH, 1, EX_DONE, 1, 5), operation(2, EX_PUSH, 2, EX_DONE, 2, 4),
           operation(3, EX_POP, 0, 1, 6, 7), operation(3, EX_POP, 0, 2, 8, 9));
    EXPECT("pushes one after the other do not", &ex_bounded_queue, &exact, "pop() = 2",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_PUSH, 2, EX_DONE, 3, 4),
           operation(3, EX_POP, 0, 2, 6, 7), operation(3, EX_POP, 0, 1, 8, 9));
    EXPECT("an element comes out once", &ex_bounded_queue, &exact, "= 1",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_POP, 0, 1, 3, 5),
           operation(3, EX_POP, 0, 1, 4, 6));
    EXPECT("full is answered when full", &ex_bounded_queue, &exact, NULL,
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_PUSH, 2, EX_DONE, 3, 4),
           operation(1, EX_PUSH, 3, EX_REFUSED, 5, 6));
    EXPECT("and not before", &ex_bounded_queue, &exact, "push(2) = refused",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_PUSH, 2, EX_REFUSED, 3, 4));
    EXPECT("a pop times out on an empty queue", &ex_bounded_queue, &exact, NULL,
           operation(3, EX_POP, 0, EX_TIMEDOUT, 1, 4), operation(1, EX_PUSH, 1, EX_DONE, 2, 3));
    EXPECT("and not on an element", &ex_bounded_queue, &exact, "pop() = timed out",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(3, EX_POP, 0, EX_TIMEDOUT, 3, 4));
    EXPECT("empty beside a push is inexact", &ex_bounded_queue, &exact, "pop() = empty",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_PUSH, 2, EX_DONE, 3, 9),
           operation(3, EX_POP, 0, EX_EMPTY, 4, 5));
    EXPECT("which some queues may be", &ex_bounded_queue, &inexact, NULL,
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_PUSH, 2, EX_DONE, 3, 9),
           operation(3, EX_POP, 0, EX_EMPTY, 4, 5));
    EXPECT("but not beside nothing", &ex_bounded_queue, &inexact, "pop() = empty",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(3, EX_POP, 0, EX_EMPTY, 4, 5));
    EXPECT("full beside a pop is inexact, too", &ex_bounded_queue, &exact, "push(2) = refused",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_POP, 0, 1, 3, 9),
           operation(3, EX_PUSH, 2, EX_REFUSED, 4, 5));
    EXPECT("and the same queues may answer it", &ex_bounded_queue, &inexact, NULL,
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_POP, 0, 1, 3, 9),
           operation(3, EX_PUSH, 2, EX_REFUSED, 4, 5));
    EXPECT("a try is refused on a closed queue", &ex_bounded_queue, &exact, NULL,
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 2), operation(1, EX_PUSH, 1, EX_REFUSED, 3, 4));
    EXPECT("drained means closed and empty", &ex_bounded_queue, &exact, "pop() = drained",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_CLOSE, 0, EX_DONE, 3, 4),
           operation(3, EX_POP, 0, EX_DRAINED, 5, 6), operation(3, EX_POP, 0, 1, 7, 8));
    EXPECT("nothing is pushed after close", &ex_bounded_queue, &exact, "push(1) = done",
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 2), operation(1, EX_PUSH, 1, EX_DONE, 3, 4));
    EXPECT("closed is answered once closed", &ex_bounded_queue, &exact, "push(1) = closed",
           operation(1, EX_PUSH, 1, EX_CLOSED, 1, 2), operation(2, EX_CLOSE, 0, EX_DONE, 3, 4));
    EXPECT("nor beside a close that another push has seen", &ex_bounded_queue, &exact, "push(1) = done",
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 5), operation(3, EX_PUSH, 2, EX_CLOSED, 2, 3),
           operation(1, EX_PUSH, 1, EX_DONE, 4, 9));
    EXPECT("which some queues allow", &ex_bounded_queue, &late_pushes, NULL,
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 5), operation(3, EX_PUSH, 2, EX_CLOSED, 2, 3),
           operation(1, EX_PUSH, 1, EX_DONE, 4, 9));
    EXPECT("but not once drained", &ex_bounded_queue, &late_pushes, "push(1) = done",
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 5), operation(3, EX_POP, 0, EX_DRAINED, 2, 3),
           operation(1, EX_PUSH, 1, EX_DONE, 4, 9));
    EXPECT("nor beside nothing", &ex_bounded_queue, &late_pushes, "push(1) = done",
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 2), operation(1, EX_PUSH, 1, EX_DONE, 3, 4));
    EXPECT("overwriting evicts the oldest", &ex_bounded_queue, &exact, NULL,
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_PUSH, 2, EX_DONE, 3, 4),
           operation(2, EX_OVERWRITE, 3, 1, 5, 6), operation(3, EX_POP, 0, 2, 7, 8));
    EXPECT("and not another", &ex_bounded_queue, &exact, "push_overwriting(3) = 2",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_PUSH, 2, EX_DONE, 3, 4),
           operation(2, EX_OVERWRITE, 3, 2, 5, 6));
    EXPECT("nor any while there is room", &ex_bounded_queue, &exact, "push_overwriting(2) = 1",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(2, EX_OVERWRITE, 2, 1, 3, 4));
    EXPECT("nor on a closed queue", &ex_bounded_queue, &exact, "push_overwriting(1) = done",
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 2), operation(1, EX_OVERWRITE, 1, EX_DONE, 3, 4));
    EXPECT("which answers the element itself", &ex_bounded_queue, &exact, NULL,
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 2), operation(1, EX_OVERWRITE, 1, 1, 3, 4),
           operation(3, EX_POP, 0, EX_DRAINED, 5, 6));
    EXPECT("but not on an open one", &ex_bounded_queue, &exact, "push_overwriting(1) = 1",
           operation(1, EX_OVERWRITE, 1, 1, 1, 2));
    EXPECT("one that began beside the close may evict after it", &ex_bounded_queue, &exact, NULL,
           operation(2, EX_CLOSE, 0, EX_DONE, 1, 5), operation(3, EX_PUSH, 2, EX_CLOSED, 2, 3),
           operation(1, EX_OVERWRITE, 1, EX_DONE, 4, 9), operation(3, EX_POP, 0, 1, 10, 11));
}

static void semaphores(void) {
    const uint32_t none = 0, one = 1;
    EXPECT("a permit signalled is had once", &ex_semaphore, &none, "wait() = done",
           operation(1, EX_SIGNAL, 1, EX_DONE, 1, 4), operation(2, EX_WAIT, 0, EX_DONE, 2, 5),
           operation(3, EX_WAIT, 0, EX_DONE, 3, 6));
    EXPECT("a wait does not end before its signal begins", &ex_semaphore, &none, "wait() = done",
           operation(2, EX_WAIT, 0, EX_DONE, 1, 2), operation(1, EX_SIGNAL, 1, EX_DONE, 3, 4));
    EXPECT("a try fails only without permits", &ex_semaphore, &one, "wait() = refused",
           operation(2, EX_WAIT, 0, EX_REFUSED, 1, 2));
    EXPECT("a wait does not time out on a permit", &ex_semaphore, &one, "wait() = timed out",
           operation(2, EX_WAIT, 0, EX_TIMEDOUT, 1, 2));
    EXPECT("but beside another wait, which it does not overtake", &ex_semaphore, &one, NULL,
           operation(2, EX_WAIT, 0, EX_TIMEDOUT, 1, 4), operation(3, EX_WAIT, 0, EX_TIMEDOUT, 2, 3));
    EXPECT("a try fails there neither", &ex_semaphore, &one, "wait() = refused",
           operation(2, EX_WAIT, 0, EX_REFUSED, 1, 4), operation(3, EX_WAIT, 0, EX_TIMEDOUT, 2, 3));
    EXPECT("two for one signal of two", &ex_semaphore, &none, NULL, operation(1, EX_SIGNAL, 2, EX_DONE, 1, 4),
           operation(2, EX_WAIT, 0, EX_DONE, 2, 5), operation(3, EX_WAIT, 0, EX_DONE, 3, 6));
}

static void latches(void) {
    const uint32_t one = 1, two = 2;
    EXPECT("the last of two counts opens it", &ex_latch, &two, NULL,
           operation(1, EX_COUNT_DOWN, 0, EX_DONE, 1, 2), operation(3, EX_AWAIT, 0, EX_TIMEDOUT, 3, 4),
           operation(2, EX_COUNT_DOWN, 0, EX_DONE, 5, 6), operation(3, EX_AWAIT, 0, EX_DONE, 7, 8));
    EXPECT("and not the first", &ex_latch, &two, "await() = done",
           operation(1, EX_COUNT_DOWN, 0, EX_DONE, 1, 2), operation(3, EX_AWAIT, 0, EX_DONE, 3, 4),
           operation(2, EX_COUNT_DOWN, 0, EX_DONE, 5, 6));
    EXPECT("an open latch is not shut", &ex_latch, &one, "await() = timed out",
           operation(1, EX_COUNT_DOWN, 0, EX_DONE, 1, 2), operation(3, EX_AWAIT, 0, EX_TIMEDOUT, 3, 4));
    EXPECT("nothing is counted down beyond it", &ex_latch, &one, "count_down() = done",
           operation(1, EX_COUNT_DOWN, 0, EX_DONE, 1, 2), operation(2, EX_COUNT_DOWN, 0, EX_DONE, 3, 4));
    EXPECT("what is left is counted", &ex_latch, &two, "probe() = 2",
           operation(1, EX_COUNT_DOWN, 0, EX_DONE, 1, 2), operation(3, EX_PROBE, 0, 2, 3, 4));
}

static void deques(void) {
    const ex_queue_parameters two = {.capacity = 2};
    EXPECT("the owner takes what it pushed last, a thief what it pushed first", &ex_deque, &two, NULL,
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_PUSH, 2, EX_DONE, 3, 4),
           operation(1, EX_TAKE_LAST, 0, 2, 5, 6), operation(2, EX_POP, 0, 1, 7, 8),
           operation(1, EX_TAKE_LAST, 0, EX_EMPTY, 9, 10));
    EXPECT("the owner does not take the first of two", &ex_deque, &two, "take_last() = 1",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_PUSH, 2, EX_DONE, 3, 4),
           operation(1, EX_TAKE_LAST, 0, 1, 5, 6));
    EXPECT("nor a thief the last", &ex_deque, &two, "pop() = 2", operation(1, EX_PUSH, 1, EX_DONE, 1, 2),
           operation(1, EX_PUSH, 2, EX_DONE, 3, 4), operation(2, EX_POP, 0, 2, 5, 6));
    EXPECT("the last one goes to one of them", &ex_deque, &two, "= 1",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_TAKE_LAST, 0, 1, 3, 5),
           operation(2, EX_POP, 0, 1, 4, 6));
    EXPECT("a thief is outrun by the owner", &ex_deque, &two, NULL, operation(1, EX_PUSH, 1, EX_DONE, 1, 2),
           operation(1, EX_TAKE_LAST, 0, 1, 3, 5), operation(2, EX_POP, 0, EX_REFUSED, 4, 6));
    EXPECT("and not by nothing", &ex_deque, &two, "pop() = refused", operation(1, EX_PUSH, 1, EX_DONE, 1, 2),
           operation(2, EX_POP, 0, EX_REFUSED, 3, 4));
    EXPECT("a full deque refuses", &ex_deque, &two, "push(2) = refused",
           operation(1, EX_PUSH, 1, EX_DONE, 1, 2), operation(1, EX_PUSH, 2, EX_REFUSED, 3, 4));
}

static void ready_sets(void) {
    const uint32_t third = 1 << 2;
    EXPECT("members that are ready are answered, again while they are", &ex_ready_set, &third, NULL,
           operation(1, EX_SIGNAL, 0, EX_DONE, 1, 2), operation(1, EX_SIGNAL, 3, EX_DONE, 3, 9),
           operation(2, EX_WAIT, 0, 1 << 0 | 1 << 3, 4, 5), operation(2, EX_WAIT, 0, 1 << 0, 6, 7),
           operation(2, EX_TAKE, 0, EX_DONE, 10, 11), operation(2, EX_WAIT, 0, 1 << 3, 12, 13));
    EXPECT("one that is not ready is not answered", &ex_ready_set, &third, "wait(0) = 3",
           operation(1, EX_SIGNAL, 0, EX_DONE, 1, 2), operation(2, EX_WAIT, 0, 1 << 0 | 1 << 1, 3, 4));
    EXPECT("nor one that was taken", &ex_ready_set, &third, "wait(0) = 1",
           operation(1, EX_SIGNAL, 0, EX_DONE, 1, 2), operation(2, EX_TAKE, 0, EX_DONE, 3, 4),
           operation(2, EX_WAIT, 0, 1 << 0, 5, 6));
    EXPECT("a wait takes the permit that it answers", &ex_ready_set, &third, "wait(0) = 4",
           operation(1, EX_SIGNAL, 2, EX_DONE, 1, 2), operation(2, EX_WAIT, 0, 1 << 2, 3, 4),
           operation(2, EX_WAIT, 0, 1 << 2, 5, 6));
    EXPECT("a ready member keeps a wait from timing out", &ex_ready_set, &third, "wait(0) = timed out",
           operation(1, EX_SIGNAL, 1, EX_DONE, 1, 2), operation(2, EX_WAIT, 0, EX_TIMEDOUT, 3, 4));
    EXPECT("but not one that becomes ready beside it", &ex_ready_set, &third, NULL,
           operation(1, EX_SIGNAL, 1, EX_DONE, 1, 4), operation(2, EX_WAIT, 0, EX_TIMEDOUT, 2, 3),
           operation(2, EX_TAKE, 1, EX_DONE, 5, 6), operation(2, EX_TAKE, 1, EX_EMPTY, 7, 8));
    EXPECT("an element that is there is had", &ex_ready_set, &third, "take(1) = empty",
           operation(1, EX_SIGNAL, 1, EX_DONE, 1, 2), operation(2, EX_TAKE, 1, EX_EMPTY, 3, 4));
    EXPECT("two wakes end one wait", &ex_ready_set, &third, NULL, operation(1, EX_WAKE, 0, EX_DONE, 1, 2),
           operation(1, EX_WAKE, 0, EX_DONE, 3, 4), operation(2, EX_WAIT, 0, EX_NONE, 5, 6),
           operation(2, EX_WAIT, 0, EX_TIMEDOUT, 7, 8));
    EXPECT("and not another", &ex_ready_set, &third, "wait(0) = 0", operation(1, EX_WAKE, 0, EX_DONE, 1, 2),
           operation(2, EX_WAIT, 0, EX_NONE, 3, 4), operation(2, EX_WAIT, 0, EX_NONE, 5, 6));
    EXPECT("a wake is not overslept", &ex_ready_set, &third, "wait(0) = timed out",
           operation(1, EX_WAKE, 0, EX_DONE, 1, 2), operation(2, EX_WAIT, 0, EX_TIMEDOUT, 3, 4));
}

#define KEY(key, value) ((uint64_t)(key) << 32 | (value))
static void maps(void) {
    EXPECT("keys are independent", &ex_map, NULL, NULL, operation(1, EX_PUT, KEY(1, 10), 0, 1, 2),
           operation(2, EX_PUT, KEY(2, 20), 0, 3, 4), operation(1, EX_GET, KEY(1, 0), 10, 5, 6),
           operation(2, EX_REMOVE, KEY(2, 0), 20, 7, 8), operation(1, EX_GET, KEY(2, 0), 0, 9, 10));
    EXPECT("of two puts side by side one replaces the other", &ex_map, NULL, "put(1, ",
           operation(1, EX_PUT, KEY(1, 10), 0, 1, 5), operation(2, EX_PUT, KEY(1, 20), 0, 2, 6));
    EXPECT("what was removed is gone", &ex_map, NULL, "get(1) = 10",
           operation(1, EX_PUT, KEY(1, 10), 0, 1, 2), operation(2, EX_REMOVE, KEY(1, 0), 10, 3, 4),
           operation(1, EX_GET, KEY(1, 0), 10, 5, 6));
}

static void partial_orders(void) {
    ex_operation operations[] = {operation(1, EX_WRITE, 1, 0, 1, 1), operation(2, EX_READ, 0, 0, 2, 1)};
    ex_history history = {operations, 2, true};
    checked += 2;
    if (!ex_history_fits(&history, &ex_register, NULL, NULL)) {
        printf("WRONG a read that does not know of a write need not see it\n");
        wrong++;
    }
    operations[1].after[1] = 1;
    if (ex_history_fits(&history, &ex_register, NULL, NULL)) {
        printf("WRONG a read that knows of a write must see it\n");
        wrong++;
    }
}

/* Long histories of a queue: the model runs, and calls are widened at random. Then the same with one wrong
 * result. */
enum { LONG = 4000 };

static uint64_t random_state = 1;
static uint64_t random_below(uint64_t limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % limit;
}

static int by_call(const void *a, const void *b) {
    const ex_operation *first = a, *second = b;
    return (first->called > second->called) - (first->called < second->called);
}

static void long_histories(void) {
    static ex_operation operations[LONG];
    const ex_queue_parameters parameters = {.capacity = 8};
    uint64_t last_return[4] = {0};
    uint64_t queue[8], head = 0, tail = 0;
    for (size_t i = 0; i < LONG; i++) {
        /* Operation i takes effect at this moment. */
        uint64_t moment = 1000 + 100 * (i + 1);
        unsigned thread = (unsigned)random_below(4);
        while (last_return[thread] >= moment) {
            thread = (thread + 1) % 4; /* three at most are busy: a return is less than 300 late */
        }
        uint64_t called = moment - random_below(350);
        called = called > last_return[thread] ? called : last_return[thread] + 1;
        uint64_t returned = moment + 1 + random_below(298);
        last_return[thread] = returned;
        bool pushes = random_below(2) == 0;
        uint64_t result;
        if (pushes) {
            result = tail - head < 8 ? EX_DONE : EX_REFUSED;
            if (result == EX_DONE) {
                queue[tail++ % 8] = i + 1;
            }
        } else {
            result = tail > head ? queue[head % 8] : EX_EMPTY;
            head += result != EX_EMPTY;
        }
        operations[i] = operation(thread, pushes ? EX_PUSH : EX_POP, i + 1, result, called, returned);
    }
    qsort(operations, LONG, sizeof operations[0], by_call);
    expect("a long history of a queue fits", &ex_bounded_queue, &parameters, operations, LONG, NULL);

    size_t early = 0, late = LONG / 2;
    while (operations[early].kind != EX_POP || operations[early].result == EX_EMPTY) {
        early++;
    }
    while (operations[late].kind != EX_POP || operations[late].result == EX_EMPTY) {
        late++;
    }
    operations[late].result = operations[early].result;
    expect("with one wrong answer in the middle it does not", &ex_bounded_queue, &parameters, operations,
           LONG, "cannot be placed");
}

int main(void) {
    registers();
    queues();
    semaphores();
    latches();
    deques();
    ready_sets();
    maps();
    partial_orders();
    long_histories();
    printf("%u histories, %u judged wrongly\n", checked, wrong);
    return wrong == 0 ? 0 : 1;
}
