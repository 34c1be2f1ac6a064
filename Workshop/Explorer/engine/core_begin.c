/* SPDX-License-Identifier: Apache-2.0
 *
 * Linked right before the core's objects: where their static data begins. See globals.c.
 */
extern char ex_data_begin[], ex_bss_begin[];
char ex_data_begin[16] = {1};
char ex_bss_begin[16];
