/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequential models of models.h. An operation without a result takes the one that the object gives.
 */
#include "models.h"
#include <string.h>

/* ---- Register ---- */

static void register_begin(void *state, const void *parameters) {
    (void)parameters;
    memset(state, 0, sizeof(uint64_t));
}

static bool register_apply(void *state, const ex_operation *operation) {
    uint64_t *value = state;
    if (operation->kind == EX_WRITE) {
        *value = operation->argument;
        return true;
    }
    return !operation->answered || operation->result == *value;
}

static void register_describe_state(const void *state, char *text, size_t size) {
    snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)state);
}

static void register_describe(const ex_operation *operation, char *text, size_t size) {
    if (operation->kind == EX_WRITE) {
        snprintf(text, size, "write(%llu)", (unsigned long long)operation->argument);
    } else {
        snprintf(text, size, "read() = %llu", (unsigned long long)operation->result);
    }
}

const ex_model ex_register = {"register",     sizeof(uint64_t),        register_begin,
                              register_apply, register_describe_state, register_describe};

/* ---- Bounded queue ---- */

typedef struct queue {
    uint32_t capacity, count;
    bool inexact, late_pushes;
    bool closed, drained;
    uint64_t elements[EX_QUEUE_MOST]; /* oldest first; zero behind the last, so that states compare */
} queue;

static void queue_begin(void *state, const void *parameters) {
    const ex_queue_parameters *p = parameters;
    queue *q = state;
    memset(q, 0, sizeof *q);
    q->capacity = p->capacity;
    q->inexact = p->inexact;
    q->late_pushes = p->late_pushes;
}

static uint64_t take_first(queue *q) {
    uint64_t element = q->elements[0];
    memmove(q->elements, q->elements + 1, (EX_QUEUE_MOST - 1) * sizeof q->elements[0]);
    q->elements[EX_QUEUE_MOST - 1] = 0;
    q->count--;
    return element;
}

static bool queue_push(queue *q, const ex_operation *operation) {
    bool full = q->count == q->capacity;
    if (!operation->answered || operation->result == EX_DONE) {
        bool beside_close = (operation->meets & 1u << EX_CLOSE) != 0;
        bool too_late = q->closed && !(q->late_pushes && beside_close && !q->drained);
        if (too_late || full) {
            return !operation->answered;
        }
        q->elements[q->count++] = operation->argument;
        return true;
    }
    if (operation->result == EX_CLOSED) {
        return q->closed;
    }
    bool pop_beside = (operation->meets & (1u << EX_POP | 1u << EX_OVERWRITE)) != 0;
    return full || q->closed || (q->inexact && pop_beside);
}

static bool queue_pop(queue *q, const ex_operation *operation) {
    if (operation->answered && operation->result == EX_DRAINED) {
        q->drained = true;
        return q->closed && q->count == 0;
    }
    if (operation->answered && (operation->result == EX_EMPTY || operation->result == EX_TIMEDOUT)) {
        bool push_beside = (operation->meets & (1u << EX_PUSH | 1u << EX_OVERWRITE)) != 0;
        return q->count == 0 || (q->inexact && push_beside);
    }
    if (operation->answered && operation->result == EX_REFUSED) {
        return (operation->meets & (1u << EX_POP | 1u << EX_TAKE_LAST)) != 0;
    }
    if (q->count == 0) {
        return !operation->answered;
    }
    uint64_t element = take_first(q);
    return !operation->answered || element == operation->result;
}

static bool queue_take_last(queue *q, const ex_operation *operation) {
    if (q->count == 0) {
        return !operation->answered || operation->result == EX_EMPTY;
    }
    uint64_t element = q->elements[--q->count];
    q->elements[q->count] = 0;
    return !operation->answered || element == operation->result;
}

static bool queue_overwrite(queue *q, const ex_operation *operation) {
    uint64_t evicted = EX_DONE;
    bool claimed_before =
        (operation->meets & 1u << EX_CLOSE) != 0 && operation->result != operation->argument;
    if (q->closed && !claimed_before) {
        evicted = operation->argument;
    } else {
        if (q->count == q->capacity) {
            evicted = take_first(q);
        }
        q->elements[q->count++] = operation->argument;
    }
    return !operation->answered || evicted == operation->result;
}

static bool queue_apply(void *state, const ex_operation *operation) {
    queue *q = state;
    switch (operation->kind) {
    case EX_PUSH:
        return queue_push(q, operation);
    case EX_POP:
        return queue_pop(q, operation);
    case EX_OVERWRITE:
        return queue_overwrite(q, operation);
    case EX_TAKE_LAST:
        return queue_take_last(q, operation);
    default:
        q->closed = true;
        return true;
    }
}

static void queue_describe_state(const void *state, char *text, size_t size) {
    const queue *q = state;
    int used =
        snprintf(text, size, "capacity %u%s, oldest first [", q->capacity, q->closed ? ", closed" : "");
    for (uint32_t i = 0; i < q->count && (size_t)used < size; i++) {
        used += snprintf(text + used, size - (size_t)used, "%s%llu", i == 0 ? "" : " ",
                         (unsigned long long)q->elements[i]);
    }
    if ((size_t)used < size) {
        snprintf(text + used, size - (size_t)used, "]");
    }
}

static const char *result_name(const ex_operation *operation, char *text, size_t size) {
    static const char *const names[] = {"done", "refused", "closed", "empty", "drained", "timed out"};
    if (!operation->answered) {
        snprintf(text, size, "?");
    } else if (operation->result >= EX_DONE && operation->result <= EX_TIMEDOUT) {
        snprintf(text, size, "%s", names[operation->result - EX_DONE]);
    } else {
        snprintf(text, size, "%llu", (unsigned long long)operation->result);
    }
    return text;
}

static void queue_describe(const ex_operation *operation, char *text, size_t size) {
    char result[32];
    result_name(operation, result, sizeof result);
    switch (operation->kind) {
    case EX_PUSH:
        snprintf(text, size, "push(%llu) = %s", (unsigned long long)operation->argument, result);
        break;
    case EX_POP:
        snprintf(text, size, "pop() = %s", result);
        break;
    case EX_OVERWRITE:
        snprintf(text, size, "push_overwriting(%llu) = %s", (unsigned long long)operation->argument, result);
        break;
    case EX_TAKE_LAST:
        snprintf(text, size, "take_last() = %s", result);
        break;
    default:
        snprintf(text, size, "close()");
        break;
    }
}

const ex_model ex_bounded_queue = {"bounded queue", sizeof(queue),        queue_begin,
                                   queue_apply,     queue_describe_state, queue_describe};
const ex_model ex_deque = {"deque",     sizeof(queue),        queue_begin,
                           queue_apply, queue_describe_state, queue_describe};

/* ---- Latch ---- */

static void latch_begin(void *state, const void *parameters) {
    uint64_t left = *(const uint32_t *)parameters;
    memcpy(state, &left, sizeof left);
}

static bool latch_apply(void *state, const ex_operation *operation) {
    uint64_t *left = state;
    if (operation->kind == EX_COUNT_DOWN) {
        if (*left == 0) {
            return false;
        }
        (*left)--;
        return true;
    }
    if (!operation->answered) {
        return true;
    }
    if (operation->kind == EX_PROBE) {
        return operation->result == *left;
    }
    return (operation->result == EX_DONE) == (*left == 0);
}

static void latch_describe_state(const void *state, char *text, size_t size) {
    snprintf(text, size, "%llu to count down", (unsigned long long)*(const uint64_t *)state);
}

static void latch_describe(const ex_operation *operation, char *text, size_t size) {
    static const char *const names[] = {"count_down", "await", "probe"};
    char result[32];
    snprintf(text, size, "%s() = %s", names[operation->kind], result_name(operation, result, sizeof result));
}

const ex_model ex_latch = {"latch",     sizeof(uint64_t),     latch_begin,
                           latch_apply, latch_describe_state, latch_describe};

/* ---- Counting semaphore ---- */

static void semaphore_begin(void *state, const void *parameters) {
    uint64_t permits = *(const uint32_t *)parameters;
    memcpy(state, &permits, sizeof permits);
}

static bool semaphore_apply(void *state, const ex_operation *operation) {
    uint64_t *permits = state;
    if (operation->kind == EX_SIGNAL) {
        *permits += operation->argument;
        return true;
    }
    if (!operation->answered || operation->result == EX_DONE) {
        if (*permits == 0) {
            return !operation->answered;
        }
        (*permits)--;
        return true;
    }
    /* One whose time is up does not overtake another that has not left the queue. */
    const bool beside_wait = (operation->meets & 1u << EX_WAIT) != 0;
    return *permits == 0 || (operation->result == EX_TIMEDOUT && beside_wait);
}

static void semaphore_describe_state(const void *state, char *text, size_t size) {
    snprintf(text, size, "%llu permits", (unsigned long long)*(const uint64_t *)state);
}

static void semaphore_describe(const ex_operation *operation, char *text, size_t size) {
    char result[32];
    result_name(operation, result, sizeof result);
    if (operation->kind == EX_SIGNAL) {
        snprintf(text, size, "signal(%llu)", (unsigned long long)operation->argument);
    } else {
        snprintf(text, size, "wait() = %s", result);
    }
}

const ex_model ex_semaphore = {"counting semaphore", sizeof(uint64_t),         semaphore_begin,
                               semaphore_apply,      semaphore_describe_state, semaphore_describe};

/* ---- Ready set ---- */

typedef struct ready_set {
    uint32_t counts[EX_MEMBERS];
    uint32_t taken_from, woken;
} ready_set;

static void ready_begin(void *state, const void *parameters) {
    ready_set *set = state;
    *set = (ready_set){.taken_from = *(const uint32_t *)parameters};
}

static bool ready_wait(ready_set *set, const ex_operation *operation) {
    if (!operation->answered) {
        return true;
    }
    bool is_none_ready = true, are_those_ready = true;
    for (unsigned member = 0; member < EX_MEMBERS; member++) {
        uint32_t *count = &set->counts[member];
        is_none_ready = is_none_ready && *count == 0;
        if (operation->result != EX_TIMEDOUT && (operation->result >> member & 1) != 0) {
            are_those_ready = are_those_ready && *count > 0;
            *count -= set->taken_from >> member & 1;
        }
    }
    if (operation->result == EX_TIMEDOUT) {
        return is_none_ready && !set->woken;
    }
    const bool is_woken = set->woken;
    set->woken = 0;
    return operation->result == EX_NONE ? is_woken : are_those_ready;
}

static bool ready_apply(void *state, const ex_operation *operation) {
    ready_set *set = state;
    uint32_t *count = &set->counts[operation->argument % EX_MEMBERS];
    switch (operation->kind) {
    case EX_WAIT:
        return ready_wait(set, operation);
    case EX_SIGNAL:
        (*count)++;
        return true;
    case EX_WAKE:
        set->woken = 1;
        return true;
    default: /* EX_TAKE */
        if (*count == 0) {
            return !operation->answered || operation->result == EX_EMPTY;
        }
        (*count)--;
        return !operation->answered || operation->result == EX_DONE;
    }
}

static void ready_describe_state(const void *state, char *text, size_t size) {
    const ready_set *set = state;
    snprintf(text, size, "counts %u %u %u %u%s", set->counts[0], set->counts[1], set->counts[2],
             set->counts[3], set->woken ? ", woken" : "");
}

static void ready_describe(const ex_operation *operation, char *text, size_t size) {
    static const char *const names[] = {"wait", "signal", "take", "wake"};
    char result[32];
    snprintf(text, size, "%s(%llu) = %s", names[operation->kind], (unsigned long long)operation->argument,
             result_name(operation, result, sizeof result));
}

const ex_model ex_ready_set = {"ready set", sizeof(ready_set),    ready_begin,
                               ready_apply, ready_describe_state, ready_describe};

/* ---- Map ---- */

static void map_begin(void *state, const void *parameters) {
    (void)parameters;
    memset(state, 0, EX_MAP_KEYS * sizeof(uint32_t));
}

static bool map_apply(void *state, const ex_operation *operation) {
    uint32_t *value = (uint32_t *)state + (operation->argument >> 32) % EX_MAP_KEYS;
    uint32_t before = *value;
    if (operation->kind != EX_GET) {
        *value = operation->kind == EX_PUT ? (uint32_t)operation->argument : 0;
    }
    return !operation->answered || operation->result == before;
}

static void map_describe_state(const void *state, char *text, size_t size) {
    const uint32_t *values = state;
    int used = snprintf(text, size, "{");
    for (unsigned i = 0; i < EX_MAP_KEYS; i++) {
        if (values[i] != 0 && (size_t)used < size) {
            used += snprintf(text + used, size - (size_t)used, " %u: %u", i, values[i]);
        }
    }
    if ((size_t)used < size) {
        snprintf(text + used, size - (size_t)used, " }");
    }
}

static void map_describe(const ex_operation *operation, char *text, size_t size) {
    static const char *const names[] = {"put", "get", "remove"};
    unsigned long long key = operation->argument >> 32;
    if (operation->kind == EX_PUT) {
        snprintf(text, size, "put(%llu, %u) = %llu", key, (unsigned)operation->argument,
                 (unsigned long long)operation->result);
    } else {
        snprintf(text, size, "%s(%llu) = %llu", names[operation->kind], key,
                 (unsigned long long)operation->result);
    }
}

const ex_model ex_map = {
    "map", EX_MAP_KEYS * sizeof(uint32_t), map_begin, map_apply, map_describe_state, map_describe};
