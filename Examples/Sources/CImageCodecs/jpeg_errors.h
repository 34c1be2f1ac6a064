// SPDX-License-Identifier: Apache-2.0
//
// libjpeg's error manager, with a return: fatal errors jump to the function that armed `escape`, and warnings
// that mean lost pixels become errors.

#ifndef JPEG_ERRORS_H
#define JPEG_ERRORS_H

#include "image_codecs.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>

struct jpeg_errors {
    struct jpeg_error_mgr manager; // first: libjpeg hands back a pointer to it
    jmp_buf escape;                // armed by each function that calls into libjpeg
    codec_status status;
    codec_message *message;
};

// Installs the handlers. `errors->message` is the place for the reason; set it before each call.
struct jpeg_error_mgr *jpeg_errors_install(struct jpeg_errors *errors);

_Noreturn void jpeg_errors_escape(struct jpeg_errors *errors, codec_status status, const char *reason);

#endif
