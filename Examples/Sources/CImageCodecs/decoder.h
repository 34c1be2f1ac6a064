// SPDX-License-Identifier: Apache-2.0
//
// The common head of the two decoders.

#ifndef DECODER_H
#define DECODER_H

#include "image_codecs.h"

#include <stdbool.h>
#include <stdio.h>

struct codec_decoder {
    codec_status (*read)(codec_decoder *decoder, uint8_t *pixels, codec_message *message);
    void (*destroy)(codec_decoder *decoder);
    uint32_t width;
    uint32_t height;
    uint64_t working_bytes;
    const uint8_t *exif;
    size_t exif_count;
};

// Whether a picture's size is within the limit; if not, *message has the reason. The product of two 32-bit
// sizes cannot wrap.
static inline bool size_is_allowed(uint64_t width, uint64_t height, uint64_t pixel_limit,
                                   codec_message *message) {
    if (width * height <= pixel_limit) {
        return true;
    }
    snprintf(message->text, sizeof message->text, "%llu x %llu pixels, more than the %llu allowed",
             (unsigned long long)width, (unsigned long long)height, (unsigned long long)pixel_limit);
    return false;
}

#endif
