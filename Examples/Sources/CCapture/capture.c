/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread behind capture.h. Its work for a block is marked ILK_NONBLOCKING: clang 20 and later, with
 * -Wfunction-effects, refuses a call there that may block or allocate. The sleep in place of a driver's wait
 * is outside.
 */
#include "capture.h"

#include <errno.h>
#include <interlock/deadline.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct capture {
    ilk_spsc *ring;
    uint64_t blocks;
    uint64_t period_ns;
    capture_report report;
    pthread_t thread;
};

/* One period of the tone, by turning a vector: sinf(3) has no bound on its time. */
static void fill(capture_block *block, uint64_t blocks) ILK_NONBLOCKING {
    const double cosine = 0.99518472667219688624, sine = 0.09801714032956060199; /* of 2 pi / 64 */
    double x = 0.5 / (double)(UINT64_C(1) << (block->number * 4 / blocks)), y = 0;
    for (int i = 0; i < CAPTURE_SAMPLES; i++) {
        block->samples[i] = (float)y;
        double turned = x * cosine - y * sine;
        y = x * sine + y * cosine;
        x = turned;
    }
}

/* Makes a block and hands it over, or counts it as lost. */
static void capture_next(struct capture *capture) ILK_NONBLOCKING {
    capture_block block;
    block.number = capture->report.made++;
    fill(&block, capture->blocks);
    if (!ilk_spsc_try_push(capture->ring, &block, sizeof block)) {
        capture->report.lost++;
    }
}

static void wait_until(uint64_t moment_ns) {
    const struct timespec moment = {.tv_sec = (time_t)(moment_ns / 1000000000),
                                    .tv_nsec = (long)(moment_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == EINTR) {
    }
}

static void *run(void *context) {
    struct capture *capture = context;
    uint64_t start = ilk_now_ns();
    for (uint64_t i = 0; i < capture->blocks && !ilk_spsc_is_closed(capture->ring); i++) {
        if (capture->period_ns != 0) {
            wait_until(start + (i + 1) * capture->period_ns);
        }
        capture_next(capture);
    }
    ilk_spsc_close(capture->ring);
    return NULL;
}

int capture_start(capture **out, ilk_spsc *ring, uint64_t blocks, uint64_t period_ns) {
    struct capture *capture = calloc(1, sizeof *capture);
    if (capture == NULL) {
        return ENOMEM;
    }
    capture->ring = ring;
    capture->blocks = blocks;
    capture->period_ns = period_ns;
    int error = pthread_create(&capture->thread, NULL, run, capture);
    if (error != 0) {
        free(capture);
        return error;
    }
    *out = capture;
    return 0;
}

capture_report capture_finish(capture *capture) {
    (void)pthread_join(capture->thread, NULL);
    capture_report report = capture->report;
    free(capture);
    return report;
}
