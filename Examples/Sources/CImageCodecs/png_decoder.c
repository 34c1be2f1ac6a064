// SPDX-License-Identifier: Apache-2.0
//
// PNG to pixels by libpng's png_image interface, which converts every format to 8-bit sRGB and keeps libpng's
// setjmp inside itself. It gives no Exif chunk, so this walks the chunk list.

#include "decoder.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>

struct png_decoder {
    codec_decoder head; // first: callers hold a pointer to it
    png_image image;
};

static uint32_t big_endian_32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// A chunk is its length, four letters, that many bytes and a checksum. One that does not fit ends the search
// (libpng reports the file's fault).
static void find_exif(codec_decoder *head, const uint8_t *bytes, size_t count) {
    const size_t signature = 8, frame = 12;
    size_t at = signature;
    while (count - at >= frame) {
        const uint32_t length = big_endian_32(bytes + at);
        if (length > count - at - frame || memcmp(bytes + at + 4, "IDAT", 4) == 0) {
            return;
        }
        if (memcmp(bytes + at + 4, "eXIf", 4) == 0) {
            head->exif = bytes + at + 8;
            head->exif_count = length;
            return;
        }
        at += frame + length;
    }
}

static codec_status failure(const png_image *image, codec_message *message) {
    snprintf(message->text, sizeof message->text, "%s", image->message);
    return strstr(image->message, "memory") != NULL ? CODEC_NO_MEMORY : CODEC_DAMAGED;
}

static void png_decoder_destroy(codec_decoder *decoder) {
    struct png_decoder *self = (struct png_decoder *)decoder;
    png_image_free(&self->image);
    free(self);
}

static codec_status png_decoder_read(codec_decoder *decoder, uint8_t *pixels, codec_message *message) {
    struct png_decoder *self = (struct png_decoder *)decoder;
    const png_color white = {255, 255, 255};
    // Three-byte pixels make libpng lay transparent ones over the background: JPEG has no transparency. They
    // are decoded to the end of the buffer and spread out from its start, which never overtakes.
    const size_t count = (size_t)decoder->width * decoder->height;
    uint8_t *packed = pixels + count;
    self->image.format = PNG_FORMAT_RGB;
    if (png_image_finish_read(&self->image, &white, packed, 0, NULL) == 0) {
        return failure(&self->image, message);
    }
    for (size_t i = 0; i < count; i++, pixels += CODEC_BYTES_PER_PIXEL, packed += 3) {
        const uint8_t red = packed[0], green = packed[1], blue = packed[2];
        pixels[0] = red;
        pixels[1] = green;
        pixels[2] = blue;
        pixels[3] = 255;
    }
    return CODEC_OK;
}

codec_status codec_png_open(const uint8_t *bytes, size_t count, uint64_t pixel_limit, uint64_t scaled_limit,
                            codec_decoder **out, codec_message *message) {
    (void)scaled_limit;
    *out = NULL;
    message->text[0] = '\0';
    struct png_decoder *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return CODEC_NO_MEMORY;
    }
    self->head.read = png_decoder_read;
    self->head.destroy = png_decoder_destroy;
    self->image.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&self->image, bytes, count) == 0) {
        const codec_status status = failure(&self->image, message);
        png_decoder_destroy(&self->head);
        return status;
    }
    self->head.width = self->image.width;
    self->head.height = self->image.height;
    if (!size_is_allowed(self->head.width, self->head.height, pixel_limit, message)) {
        png_decoder_destroy(&self->head);
        return CODEC_TOO_LARGE;
    }
    find_exif(&self->head, bytes, count);
    *out = &self->head;
    return CODEC_OK;
}
