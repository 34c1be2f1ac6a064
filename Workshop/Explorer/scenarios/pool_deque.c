/* SPDX-License-Identifier: Apache-2.0
 *
 * The deque of a worker by itself: the owner pushes and takes beside one thief and two. The answers fit a plain deque:
 * each job comes out once, whole, and a job that is refused by a full deque is the owner's still. Its two places make
 * every schedule wrap.
 */
/* contract: pool.A */
#include "../explorer.h"
#include "../history/models.h"
#include "../model/core.h" /* as the core: its deque has this size */
#include <pool/deque.h>
#include <string.h>

enum { JOBS = 4 };

static struct {
    struct deque deque;
    ilk_job jobs[JOBS];
    uint32_t pushed; /* the owner's */
} s;

static const ex_queue_parameters places = {.capacity = ILK__DEQUE_PLACES};

static void setup(void) {
    ex_history_reset();
    memset(&s, 0, sizeof s);
}

static void begin_far(void) {
    setup();
    s.deque.top = s.deque.bottom = 1001; /* an odd place */
}

/* The job's number, from 1 on; 0: none. */
static uint64_t got(ilk_job *job) {
    if (job == NULL) {
        return 0;
    }
    ilk_plain_read(&job->context, sizeof job->context);
    ex_assert(job->context == job);
    return (uint64_t)(job - s.jobs) + 1;
}

static bool push(void) {
    ilk_job *job = &s.jobs[s.pushed];
    ilk_plain_write(&job->context, sizeof job->context);
    job->context = job;
    const size_t operation = ex_begin(EX_PUSH, s.pushed + 1);
    const bool pushed = deque_push(&s.deque, job, job->group);
    ex_end(operation, pushed ? EX_DONE : EX_REFUSED);
    s.pushed += pushed;
    return pushed;
}

static bool takes(void) {
    const size_t operation = ex_begin(EX_TAKE_LAST, 0);
    const uint64_t number = got(deque_take(&s.deque));
    ex_end(operation, number != 0 ? number : EX_EMPTY);
    return number != 0;
}
static void take(void) {
    (void)takes();
}

static void steal(void) {
    bool lost = false;
    const size_t operation = ex_begin(EX_POP, 0);
    const uint64_t number = got(deque_steal(&s.deque, NULL, &lost));
    ex_end(operation, number != 0 ? number : lost ? EX_REFUSED : EX_EMPTY);
}

static void push_take(void) {
    ex_assert(push());
    take();
}

static void push_two_take_two(void) {
    ex_assert(push());
    ex_assert(push());
    take();
    take();
}

static void push_over_the_end(void) {
    for (int i = 0; i < JOBS; i++) {
        if (!push()) {
            take();
        }
    }
    take();
}

static void push_take_push_take(void) {
    push_take();
    push_take();
}

static void steal_two(void) {
    steal();
    steal();
}

/* What was pushed and has not come out is there still, for the owner. */
static void check(void) {
    while (takes()) {
    }
    ex_history_check(&ex_deque, &places);
    ex_assert(!deque_has_jobs(&s.deque));
}

EX_SCENARIO(last_one){
    .name = "deque-push-take-steal",
    .claim = "owner and thief do not both get the last job",
    .setup = setup,
    .threads = {push_take, steal},
    .check = check,
};
EX_SCENARIO(two){
    .name = "deque-push_two-take_two-steal_two",
    .claim = "each of two jobs comes out once",
    .setup = setup,
    .threads = {push_two_take_two, steal_two},
    .check = check,
};
EX_SCENARIO(two_thieves){
    .name = "deque-push_two-take_two-steal-steal",
    .claim = "owner and two thieves get two jobs once each",
    .setup = setup,
    .threads = {push_two_take_two, steal, steal},
    .check = check,
};
EX_SCENARIO(again){
    .name = "deque-push-take-twice-steal_two",
    .claim = "an empty deque goes on as a new one",
    .setup = begin_far,
    .threads = {push_take_push_take, steal_two},
    .check = check,
};
EX_SCENARIO(wrap){
    .name = "deque-wrap-steal_two",
    .claim = "a place is not written while its thief may still succeed with what it read",
    .setup = setup,
    .threads = {push_over_the_end, steal_two},
    .check = check,
};
EX_SCENARIO(wrap_thieves){
    .name = "deque-wrap-steal-steal",
    .claim = "the same beside two thieves",
    .setup = setup,
    .threads = {push_over_the_end, steal, steal},
    .check = check,
};

EX_MUST_REACH(states){
    {"deque-*", {EX_DEQUE_THIEF_OUTRUN}},
    {"deque-push-take-twice-steal_two", {EX_DEQUE_LAST_TO_THIEF}},
    {"deque-wrap-steal-steal deque-wrap-steal_two", {EX_DEQUE_FULL}},
};
