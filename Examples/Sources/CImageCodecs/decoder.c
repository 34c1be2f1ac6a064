// SPDX-License-Identifier: Apache-2.0
//
// The calls that do not depend on the format.

#include "decoder.h"

uint32_t codec_width(const codec_decoder *decoder) {
    return decoder->width;
}

uint32_t codec_height(const codec_decoder *decoder) {
    return decoder->height;
}

uint64_t codec_working_bytes(const codec_decoder *decoder) {
    return decoder->working_bytes;
}

const uint8_t *codec_exif(const codec_decoder *decoder, size_t *count) {
    *count = decoder->exif_count;
    return decoder->exif;
}

codec_status codec_read(codec_decoder *decoder, uint8_t *pixels, codec_message *message) {
    return decoder->read(decoder, pixels, message);
}

void codec_destroy(codec_decoder *decoder) {
    if (decoder != NULL) {
        decoder->destroy(decoder);
    }
}
