/* SPDX-License-Identifier: Apache-2.0
 *
 * See core_begin.c.
 */
extern char ex_data_end[], ex_bss_end[];
char ex_data_end[16] = {1};
char ex_bss_end[16];
