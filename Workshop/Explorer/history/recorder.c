/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder of real threads. See recorder.h.
 */
#include "recorder.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Two cache lines apart, against false sharing. */
typedef struct buffer {
    ex_operation *operations;
    size_t count;
    unsigned char apart[128 - sizeof(void *) - sizeof(size_t)];
} buffer;

struct ex_recorder {
    unsigned threads;
    size_t capacity;
    buffer buffers[EX_HISTORY_THREADS];
    ex_operation *merged;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

ex_recorder *ex_recorder_create(unsigned threads, size_t operations) {
    if (threads > EX_HISTORY_THREADS) {
        return NULL;
    }
    ex_recorder *recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL) {
        return NULL;
    }
    recorder->threads = threads;
    recorder->capacity = operations;
    recorder->merged = calloc(threads * operations, sizeof *recorder->merged);
    bool complete = recorder->merged != NULL;
    for (unsigned i = 0; i < threads; i++) {
        recorder->buffers[i].operations = calloc(operations, sizeof(ex_operation));
        complete = complete && recorder->buffers[i].operations != NULL;
    }
    if (!complete) {
        ex_recorder_destroy(recorder);
        return NULL;
    }
    return recorder;
}

void ex_recorder_destroy(ex_recorder *recorder) {
    for (unsigned i = 0; i < recorder->threads; i++) {
        free(recorder->buffers[i].operations);
    }
    free(recorder->merged);
    free(recorder);
}

bool ex_record_call(ex_recorder *recorder, unsigned thread, unsigned kind, uint64_t argument) {
    buffer *mine = &recorder->buffers[thread];
    if (mine->count == recorder->capacity) {
        return false;
    }
    ex_operation *operation = &mine->operations[mine->count];
    operation->thread = thread;
    operation->kind = kind;
    operation->argument = argument;
    operation->answered = false;
    operation->returned = UINT64_MAX;
    operation->called = now();
    atomic_thread_fence(memory_order_seq_cst);
    return true;
}

void ex_record_not_before(ex_recorder *recorder, unsigned thread, uint64_t moment) {
    buffer *mine = &recorder->buffers[thread];
    ex_operation *operation = &mine->operations[mine->count];
    operation->called = moment > operation->called ? moment : operation->called;
}

void ex_record_return(ex_recorder *recorder, unsigned thread, uint64_t result) {
    atomic_thread_fence(memory_order_seq_cst);
    buffer *mine = &recorder->buffers[thread];
    ex_operation *operation = &mine->operations[mine->count++];
    operation->returned = now();
    operation->result = result;
    operation->answered = true;
}

ex_history ex_recorder_history(ex_recorder *recorder) {
    size_t next[EX_HISTORY_THREADS] = {0}, count = 0;
    for (;;) {
        const ex_operation *earliest = NULL;
        for (unsigned i = 0; i < recorder->threads; i++) {
            const buffer *from = &recorder->buffers[i];
            const ex_operation *operation = &from->operations[next[i]];
            /* A call without a return comes after the last one that returned. */
            const size_t there =
                from->count + (from->count < recorder->capacity && from->operations[from->count].called != 0);
            if (next[i] < there && (earliest == NULL || operation->called < earliest->called)) {
                earliest = operation;
            }
        }
        if (earliest == NULL) {
            return (ex_history){recorder->merged, count, false};
        }
        recorder->merged[count++] = *earliest;
        next[earliest->thread]++;
    }
}
