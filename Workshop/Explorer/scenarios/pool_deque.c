/* SPDX-License-Identifier: Apache-2.0
 *
 * The deque of a worker by itself: the owner pushes and takes beside one thief and two. Each job comes out once, whole,
 * and a job that is refused by a full deque is the owner's still. Its two places make every schedule wrap.
 */
/* contract: pool.A */
#include "../explorer.h"
#define ILK__DEQUE_PLACES 2
#include <pool/deque.h>
#include <string.h>

enum { JOBS = 4 };

static struct {
    struct deque deque;
    ilk_job jobs[JOBS];
    ILK_ATOMIC(uint32_t) gone[JOBS];
    uint32_t pushed; /* the owner's */
} s;

static void setup(void) {
    memset(&s, 0, sizeof s);
}

static void begin_far(void) {
    setup();
    s.deque.top = s.deque.bottom = 1001; /* an odd place */
}

static void got(ilk_job *job) {
    if (job != NULL) {
        ilk_plain_read(&job->context, sizeof job->context);
        const size_t index = (size_t)(job - s.jobs);
        ex_assert(job->context == &s.jobs[index]);
        ex_assert(ilk_atomic_fetch_add(&s.gone[index], 1, memory_order_relaxed) == 0);
    }
}

static bool push(void) {
    ilk_job *job = &s.jobs[s.pushed];
    ilk_plain_write(&job->context, sizeof job->context);
    job->context = job;
    if (!deque_push(&s.deque, job, job->group)) {
        return false;
    }
    s.pushed++;
    return true;
}

static void take(void) {
    got(deque_take(&s.deque));
}

static void steal(void) {
    bool lost = false;
    got(deque_steal(&s.deque, NULL, &lost));
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
    ilk_job *job;
    while ((job = deque_take(&s.deque)) != NULL) {
        got(job);
    }
    for (uint32_t i = 0; i < s.pushed; i++) {
        ex_assert(s.gone[i] == 1);
    }
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
