/* SPDX-License-Identifier: Apache-2.0
 *
 * The notify hook's scenarios for both rings, after a face and notify_clients.h.
 */
/* contract: notify.D */
#ifndef EXPLORER_SCENARIOS_NOTIFY_SCENARIOS_H
#define EXPLORER_SCENARIOS_NOTIFY_SCENARIOS_H

#define SCENARIO(identifier, text, start, ...)                                                               \
    EX_SCENARIO(identifier) {                                                                                \
        .name = RING_NAME "-notify-" text, .claim = "what comes after arming is announced", .setup = start,  \
        .check = check, .threads = {__VA_ARGS__},                                                            \
    }

SCENARIO(drain_waits, "drain-close", setup_1, push_if_room, drain_by_hook, close_ring);
SCENARIO(push_waits_close, "push-close", setup_1, push_by_hook_until_closed, close_ring);
SCENARIO(in_place, "reserve", setup_1, push_in_place, pop_one_by_hook);

/* ---- An arm that answers false ---- */

/* An element may be there when arm begins, or come then. */
static void arm_once_then_pop(void) {
    uint32_t before;
    install(ILK_READABLE);
    s.refused = !arm(ILK_READABLE, &before);
    pop_if_any();
}
static void check_no_call_if_refused(void) {
    ex_expect(!s.refused || s.calls.begun == 0, "arm answered false, and the hook was called");
    ex_expect(s.refused || s.calls.begun <= 1, "one arm, and the hook was called %u times", s.calls.begun);
    check();
}
#define REFUSED(identifier, text, start, ...)                                                                \
    EX_SCENARIO(identifier) {                                                                                \
        .name = RING_NAME "-notify-" text, .claim = "an arm that answers false arms nothing",                \
        .setup = start, .check = check_no_call_if_refused, .threads = {__VA_ARGS__},                         \
        .titles = {"producer", "hook's consumer", "other consumer"},                                         \
    }
REFUSED(arms_once, "arm_once", setup_2, push_if_room_twice, arm_once_then_pop);

/* ---- Taking the hook away ---- */

/* After set_notify the client owns the old hook's memory again, and the new hook is not armed. */
static void hook_not_armed(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
    ex_expect(false, "a hook is called that no thread has armed");
}
static void take_hook_away(void) {
    RING(set_notify)(s.ring, hook_not_armed, NULL);
    ilk_plain_write(&s.calls.installed, sizeof s.calls.installed);
    s.calls.installed = 0;
}
/*   consumer                         producer
 *   arms: true
 *                                    pushes; takes the arm down, and is late with its call
 *   finds the element without a call
 *   takes the hook away, frees what is behind it
 *                                    calls: must have been waited for                                */
static void arm_pop_and_take_away(void) {
    uint32_t before;
    install(ILK_READABLE);
    (void)arm(ILK_READABLE, &before);
    pop_if_any();
    take_hook_away();
}
static void arm_push_and_take_away(void) {
    uint32_t before;
    install(ILK_WRITABLE);
    ex_assert(try_push());
    (void)arm(ILK_WRITABLE, &before);
    take_hook_away();
}
#define AWAY(identifier, text, ...)                                                                          \
    EX_SCENARIO(identifier) {                                                                                \
        .name = RING_NAME "-notify-" text, .claim = "once the hook is taken away, no call of it is running", \
        .setup = setup_1, .check = check, .threads = {__VA_ARGS__}, .spurious_wakeups = 1,                   \
    }
AWAY(away, "taken-away", push_if_room, arm_pop_and_take_away);
AWAY(away_push, "push-taken-away", arm_push_and_take_away, pop_if_any);
AWAY(away_close, "close-taken-away", close_ring, arm_pop_and_take_away);

/* The hook removes itself, beside a call of the other side's hook that does the same wait. */
static void hook_takes_itself_away(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
    s.calls.begun++;
    RING(set_notify)(s.ring, NULL, NULL);
}
static void setup_self(void) {
    setup_1();
    RING(set_notify)(s.ring, hook_takes_itself_away, NULL);
    ex_assert(RING(arm_pop)(s.ring));
}
static void check_called_once(void) {
    ex_assert(s.calls.begun == 1);
    check();
}
EX_SCENARIO(self){
    .name = RING_NAME "-notify-takes-itself-away",
    .claim = "a hook that takes itself away waits for no call of its own",
    .setup = setup_self,
    .check = check_called_once,
    .threads = {push_if_room, pop_if_any, close_ring},
};

#endif
