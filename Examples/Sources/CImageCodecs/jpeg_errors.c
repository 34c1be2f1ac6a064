// SPDX-License-Identifier: Apache-2.0
//
// The handlers behind jpeg_errors.h.

#include "jpeg_errors.h"

#include <stdbool.h>
#include <string.h>

#include <jerror.h>

_Noreturn void jpeg_errors_escape(struct jpeg_errors *errors, codec_status status, const char *reason) {
    errors->status = status;
    snprintf(errors->message->text, sizeof errors->message->text, "%s", reason);
    longjmp(errors->escape, 1);
}

static _Noreturn void error_exit(j_common_ptr common) {
    struct jpeg_errors *errors = (struct jpeg_errors *)common->err;
    char reason[JMSG_LENGTH_MAX];
    common->err->format_message(common, reason);
    jpeg_errors_escape(errors, common->err->msg_code == JERR_OUT_OF_MEMORY ? CODEC_NO_MEMORY : CODEC_DAMAGED,
                       reason);
}

// Oddities of encoders: all pixels are there.
static bool is_harmless(int code) {
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
           code == JWRN_TOO_MUCH_DATA;
}

static void emit_message(j_common_ptr common, int level) {
    const bool is_warning = level < 0;
    if (is_warning && !is_harmless(common->err->msg_code)) {
        error_exit(common);
    }
}

static void output_message(j_common_ptr common) {
    (void)common; // a library does not write to its user's terminal
}

struct jpeg_error_mgr *jpeg_errors_install(struct jpeg_errors *errors) {
    jpeg_std_error(&errors->manager);
    errors->manager.error_exit = error_exit;
    errors->manager.emit_message = emit_message;
    errors->manager.output_message = output_message;
    errors->status = CODEC_OK;
    return &errors->manager;
}
