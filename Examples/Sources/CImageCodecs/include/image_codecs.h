// SPDX-License-Identifier: Apache-2.0
//
// Reading JPEG and PNG and writing JPEG, from memory to memory, through libjpeg-turbo and libpng.
//
// Both libraries report errors by longjmp, which must not cross Swift frames: every jump starts and lands
// inside one function of this module, which returns a status and a sentence. This module does not print,
// abort or keep state between calls; different threads may use different decoders at once.
//
// Pixels are four bytes, red, green, blue and one unused (255); rows run top to bottom without padding.

#ifndef IMAGE_CODECS_H
#define IMAGE_CODECS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CODEC_BYTES_PER_PIXEL = 4, CODEC_MESSAGE_SIZE = 256 };

typedef enum {
    CODEC_OK,
    CODEC_DAMAGED,   // truncated, corrupt or hostile
    CODEC_TOO_LARGE, // more pixels than the caller allows
    CODEC_NO_MEMORY,
} codec_status;

// The library's error message, or the empty string.
typedef struct {
    char text[CODEC_MESSAGE_SIZE];
} codec_message;

typedef struct codec_decoder codec_decoder;

// Reads the header of a JPEG or PNG in memory, and sets *out to a decoder with the picture's size. `bytes`
// must stay valid until the decoder is destroyed. A picture of more than `pixel_limit` pixels is refused
// before anything is allocated for it. On failure *out is NULL and *message has the reason.
//
// A JPEG of more than `scaled_limit` pixels is decoded at the most eighths of its size that keep to it, or at
// one eighth; its width and height are those. A PNG has one size.
codec_status codec_jpeg_open(const uint8_t *bytes, size_t count, uint64_t pixel_limit, uint64_t scaled_limit,
                             codec_decoder **out, codec_message *message);
codec_status codec_png_open(const uint8_t *bytes, size_t count, uint64_t pixel_limit, uint64_t scaled_limit,
                            codec_decoder **out, codec_message *message);

uint32_t codec_width(const codec_decoder *decoder);
uint32_t codec_height(const codec_decoder *decoder);

// What the library holds while it decodes, beside the pixels: of a JPEG in several scans, all coefficients.
uint64_t codec_working_bytes(const codec_decoder *decoder);

// The header's Exif block from its TIFF header on, or NULL. Valid until destroyed.
const uint8_t *codec_exif(const codec_decoder *decoder, size_t *count);

// Decodes into `pixels`, which has room for width * height pixels. At most one call a decoder: on failure
// what `pixels` then holds is unspecified but initialised as far as it was written.
codec_status codec_read(codec_decoder *decoder, uint8_t *pixels, codec_message *message);

void codec_destroy(codec_decoder *decoder);

// Encodes pixels as a baseline JPEG with 4:2:0 subsampling; the same pixels give the same bytes. On success
// *out is a block for codec_free.
codec_status codec_jpeg_encode(const uint8_t *pixels, uint32_t width, uint32_t height, int quality,
                               uint8_t **out, size_t *out_count, codec_message *message);
void codec_free(uint8_t *encoded);

// Makes the process give blocks of a megabyte or more back to the system when they are freed. To be called before
// there are pictures.
void codec_give_freed_memory_back(void);

#ifdef __cplusplus
}
#endif

#endif
