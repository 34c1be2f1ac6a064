// SPDX-License-Identifier: Apache-2.0
//
// JPEG to pixels by libjpeg-turbo. The decompressor lives from open to destroy; every entry into libjpeg arms
// its own escape, so that no jump outlives the frame it lands in.

#include "decoder.h"
#include "jpeg_errors.h"

#include <stdlib.h>
#include <string.h>

struct jpeg_decoder {
    codec_decoder head; // first: callers hold a pointer to it
    struct jpeg_decompress_struct decompressor;
    struct jpeg_errors errors;
    struct jpeg_progress_mgr progress;
    uint8_t *exif; // a copy: libjpeg frees its markers with the last row
};

// Each scan costs a pass over the whole picture: a few kilobytes can keep a decoder busy for minutes.
// Encoders write far fewer.
static const int scan_limit = 500;

static void refuse_endless_scans(j_common_ptr common) {
    j_decompress_ptr decompressor = (j_decompress_ptr)common;
    if (decompressor->input_scan_number > scan_limit) {
        jpeg_errors_escape((struct jpeg_errors *)common->err, CODEC_DAMAGED,
                           "an absurd number of progressive scans");
    }
}

static void jpeg_decoder_destroy(codec_decoder *decoder) {
    struct jpeg_decoder *self = (struct jpeg_decoder *)decoder;
    jpeg_destroy_decompress(&self->decompressor);
    free(self->exif);
    free(self);
}

// The first APP1 block with that mark. Its TIFF header follows the six bytes "Exif\0\0". Without memory for
// the block, the picture counts as one without it.
static void find_exif(struct jpeg_decoder *self) {
    static const uint8_t label[6] = "Exif\0";
    for (jpeg_saved_marker_ptr marker = self->decompressor.marker_list; marker != NULL;
         marker = marker->next) {
        if (marker->marker == JPEG_APP0 + 1 && marker->data_length > sizeof label &&
            memcmp(marker->data, label, sizeof label) == 0) {
            const size_t count = marker->data_length - sizeof label;
            self->exif = malloc(count);
            if (self->exif != NULL) {
                memcpy(self->exif, marker->data + sizeof label, count);
                self->head.exif = self->exif;
                self->head.exif_count = count;
            }
            return;
        }
    }
}

// libjpeg decodes at eighths of the size without ever having the whole.
static void scale_to(struct jpeg_decoder *self, uint64_t limit) {
    j_decompress_ptr decompressor = &self->decompressor;
    decompressor->scale_denom = 8;
    decompressor->scale_num = 8;
    jpeg_calc_output_dimensions(decompressor);
    while (decompressor->scale_num > 1 &&
           (uint64_t)decompressor->output_width * decompressor->output_height > limit) {
        decompressor->scale_num--;
        jpeg_calc_output_dimensions(decompressor);
    }
    self->head.width = decompressor->output_width;
    self->head.height = decompressor->output_height;
}

static uint64_t bytes_of_coefficients(j_decompress_ptr decompressor) {
    uint64_t blocks = 0;
    if (jpeg_has_multiple_scans(decompressor)) {
        for (int i = 0; i < decompressor->num_components; i++) {
            const jpeg_component_info *component = &decompressor->comp_info[i];
            blocks += (uint64_t)component->width_in_blocks * component->height_in_blocks;
        }
    }
    return blocks * sizeof(JBLOCK);
}

// Four inks to red, green and blue, in place. Adobe's programs store every ink inverted (255: none): `flip`
// is 0 for theirs and 255 for the others.
static void inks_to_rgb(uint8_t *pixels, size_t count, uint8_t flip) {
    for (size_t i = 0; i < count; i++, pixels += CODEC_BYTES_PER_PIXEL) {
        const unsigned black = pixels[3] ^ flip;
        for (int channel = 0; channel < 3; channel++) {
            pixels[channel] = (uint8_t)(((pixels[channel] ^ flip) * black + 127) / 255);
        }
        pixels[3] = 255;
    }
}

static codec_status jpeg_decoder_read(codec_decoder *decoder, uint8_t *pixels, codec_message *message) {
    struct jpeg_decoder *self = (struct jpeg_decoder *)decoder;
    self->errors.message = message;
    if (setjmp(self->errors.escape) != 0) {
        return self->errors.status;
    }
    j_decompress_ptr decompressor = &self->decompressor;
    const bool has_inks =
        decompressor->jpeg_color_space == JCS_CMYK || decompressor->jpeg_color_space == JCS_YCCK;
    decompressor->out_color_space = has_inks ? JCS_CMYK : JCS_EXT_RGBX;
    jpeg_start_decompress(decompressor);

    const size_t stride = (size_t)decompressor->output_width * CODEC_BYTES_PER_PIXEL;
    while (decompressor->output_scanline < decompressor->output_height) {
        JSAMPROW row = pixels + (size_t)decompressor->output_scanline * stride;
        jpeg_read_scanlines(decompressor, &row, 1);
        if (has_inks) {
            inks_to_rgb(row, decompressor->output_width, decompressor->saw_Adobe_marker ? 0 : 255);
        }
    }
    jpeg_finish_decompress(decompressor);
    return CODEC_OK;
}

codec_status codec_jpeg_open(const uint8_t *bytes, size_t count, uint64_t pixel_limit, uint64_t scaled_limit,
                             codec_decoder **out, codec_message *message) {
    *out = NULL;
    message->text[0] = '\0';
    struct jpeg_decoder *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return CODEC_NO_MEMORY;
    }
    self->head.read = jpeg_decoder_read;
    self->head.destroy = jpeg_decoder_destroy;
    self->decompressor.err = jpeg_errors_install(&self->errors);
    self->errors.message = message;
    if (setjmp(self->errors.escape) != 0) {
        const codec_status status = self->errors.status;
        jpeg_decoder_destroy(&self->head);
        return status;
    }
    jpeg_create_decompress(&self->decompressor);
    self->progress.progress_monitor = refuse_endless_scans;
    self->decompressor.progress = &self->progress;
    jpeg_save_markers(&self->decompressor, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(&self->decompressor, bytes, count);
    jpeg_read_header(&self->decompressor, TRUE);

    self->head.width = self->decompressor.image_width;
    self->head.height = self->decompressor.image_height;
    if (!size_is_allowed(self->head.width, self->head.height, pixel_limit, message)) {
        jpeg_decoder_destroy(&self->head);
        return CODEC_TOO_LARGE;
    }
    self->head.working_bytes = bytes_of_coefficients(&self->decompressor);
    scale_to(self, scaled_limit);
    find_exif(self);
    *out = &self->head;
    return CODEC_OK;
}
