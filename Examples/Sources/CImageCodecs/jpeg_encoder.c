// SPDX-License-Identifier: Apache-2.0
//
// Pixels to JPEG by libjpeg-turbo, in one call. The bytes go to a block of our own: jpeg_mem_dest hands its
// block over only at the end, so that an error midway would leak it.

#include "jpeg_errors.h"

#include <stdlib.h>

struct jpeg_encoder {
    struct jpeg_compress_struct compressor;
    struct jpeg_errors errors;
    struct jpeg_destination_mgr destination;
    uint8_t *bytes;
    size_t capacity;
};

static const size_t first_capacity = 64 * 1024;

// libjpeg's contract: point it at the free part of the block.
static boolean grow(j_compress_ptr compressor) {
    struct jpeg_encoder *self = compressor->client_data;
    const size_t filled = self->capacity;
    const size_t capacity = filled == 0 ? first_capacity : filled * 2;
    uint8_t *bytes = realloc(self->bytes, capacity);
    if (bytes == NULL) {
        jpeg_errors_escape(&self->errors, CODEC_NO_MEMORY, "no memory for the compressed picture");
    }
    self->bytes = bytes;
    self->capacity = capacity;
    self->destination.next_output_byte = bytes + filled;
    self->destination.free_in_buffer = capacity - filled;
    return TRUE;
}

static void begin(j_compress_ptr compressor) {
    (void)grow(compressor);
}

static void end(j_compress_ptr compressor) {
    (void)compressor;
}

static codec_status compress(struct jpeg_encoder *self, const uint8_t *pixels, uint32_t width,
                             uint32_t height, int quality) {
    if (setjmp(self->errors.escape) != 0) {
        return self->errors.status;
    }
    j_compress_ptr compressor = &self->compressor;
    jpeg_create_compress(compressor);
    compressor->client_data = self;
    compressor->dest = &self->destination;
    compressor->image_width = width;
    compressor->image_height = height;
    compressor->input_components = CODEC_BYTES_PER_PIXEL;
    compressor->in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(compressor);
    jpeg_set_quality(compressor, quality, TRUE);
    compressor->optimize_coding = TRUE;
    jpeg_start_compress(compressor, TRUE);
    while (compressor->next_scanline < compressor->image_height) {
        // libjpeg only reads the rows that it compresses.
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)compressor->next_scanline * width * CODEC_BYTES_PER_PIXEL);
        jpeg_write_scanlines(compressor, &row, 1);
    }
    jpeg_finish_compress(compressor);
    return CODEC_OK;
}

codec_status codec_jpeg_encode(const uint8_t *pixels, uint32_t width, uint32_t height, int quality,
                               uint8_t **out, size_t *out_count, codec_message *message) {
    *out = NULL;
    *out_count = 0;
    message->text[0] = '\0';
    struct jpeg_encoder *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return CODEC_NO_MEMORY;
    }
    self->compressor.err = jpeg_errors_install(&self->errors);
    self->errors.message = message;
    self->destination.init_destination = begin;
    self->destination.empty_output_buffer = grow;
    self->destination.term_destination = end;

    const codec_status status = compress(self, pixels, width, height, quality);
    jpeg_destroy_compress(&self->compressor);
    if (status == CODEC_OK) {
        *out = self->bytes;
        *out_count = self->capacity - self->destination.free_in_buffer;
    } else {
        free(self->bytes);
    }
    free(self);
    return status;
}

void codec_free(uint8_t *encoded) {
    free(encoded);
}
