/* SPDX-License-Identifier: Apache-2.0
 *
 * See page.h.
 */
#include "diagnostics/page.h"
const char ilk__page_begin[] = "<!doctype html><script type=\"application/json\" id=\"report\">";
const char ilk__page_end[] = "</script>";
