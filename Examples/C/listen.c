/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture example without Swift: the same C thread pushes, the main thread pops and measures. Exits with
 * 1 if a block is unaccounted for, or the tone does not have its loudness.
 */
#include "capture.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { BLOCKS = 750, PERIOD_NS = 1333333, CAPACITY = 64 };

int main(void) {
    ilk_spsc *ring = NULL;
    ilk_status status = ilk_spsc_create(&ring, CAPACITY, sizeof(capture_block));
    if (status != ILK_OK) {
        (void)fprintf(stderr, "listen: no ring: %s\n", ilk_status_name(status));
        return 1;
    }
    capture *source = NULL;
    int error = capture_start(&source, ring, BLOCKS, PERIOD_NS);
    if (error != 0) {
        (void)fprintf(stderr, "listen: no thread: error %d\n", error);
        ilk_spsc_destroy(ring);
        return 1;
    }

    uint64_t received = 0, missing = 0, next = 0;
    double squares[4] = {0, 0, 0, 0};
    uint64_t samples[4] = {0, 0, 0, 0};
    capture_block block;
    while (ilk_spsc_pop_until(ring, &block, sizeof block, ILK_FOREVER) == ILK_OK) {
        received++;
        missing += block.number - next;
        next = block.number + 1;
        uint64_t quarter = block.number * 4 / BLOCKS;
        for (int i = 0; i < CAPTURE_SAMPLES; i++) {
            squares[quarter] += (double)block.samples[i] * (double)block.samples[i];
        }
        samples[quarter] += CAPTURE_SAMPLES;
    }
    capture_report report = capture_finish(source);
    ilk_spsc_destroy(ring);
    missing += report.made - next;

    bool sound = received + report.lost == report.made && missing == report.lost && report.made == BLOCKS;
    printf("listen: %llu blocks made, %llu received, %llu lost; level", (unsigned long long)report.made,
           (unsigned long long)received, (unsigned long long)report.lost);
    for (int i = 0; i < 4; i++) {
        if (samples[i] == 0) {
            printf(" -");
            continue;
        }
        double amplitude = sqrt(2 * squares[i] / (double)samples[i]);
        sound = sound && fabs(amplitude - 0.5 / (1 << i)) < 1e-5;
        printf(" %.1f", 20 * log10(amplitude / sqrt(2)));
    }
    printf(" dB of full scale\n");
    return sound ? 0 : 1;
}
