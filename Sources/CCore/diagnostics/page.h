/* SPDX-License-Identifier: Apache-2.0
 *
 * The page that shows a diagnosis: page.html, cut where the JSON goes. scripts/lib/page_source.py makes page.c of it.
 */
#ifndef INTERLOCK_DIAGNOSTICS_PAGE_H
#define INTERLOCK_DIAGNOSTICS_PAGE_H

/* Lines; NULL ends them. */
extern const char *const ilk__page_begin[];
extern const char *const ilk__page_end[];

#endif
