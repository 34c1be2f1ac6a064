/* SPDX-License-Identifier: Apache-2.0
 *
 * Linked right after the core's objects: where their static data ends. See globals.c.
 */
extern char ex_data_end[], ex_bss_end[];
char ex_data_end[16] = {1};
char ex_bss_end[16];
