/* SPDX-License-Identifier: Apache-2.0
 *
 * What the modelled diagnosis has reported; a scenario sets it to zero as it begins.
 */
#ifndef EXPLORER_MODEL_DIAGNOSIS_H
#define EXPLORER_MODEL_DIAGNOSIS_H

struct ex_reports {
    unsigned inversions;
    unsigned self_waits;
    unsigned latest_count; /* orders in the latest cycle */
    unsigned ended_searches;
};

struct ex_reports *ex_reports(void);

#endif
