/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph of nodes in oneTBB's flow graph.
 */
#ifndef BENCH_FLOW_GRAPH_H
#define BENCH_FLOW_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the program was built with oneTBB. */
bool flow_graph_is_there(void);

/* Makes, runs and frees a graph of `count` nodes, in which node i waits for node above[i], an earlier one, or for none
 * (-1). Returns after the last node has run. Without oneTBB it does nothing. */
void flow_graph_run(const intptr_t *above, size_t count);

/* The heap's bytes of one of the nodes of such a graph before it runs; 0 without oneTBB. */
size_t flow_graph_bytes(const intptr_t *above, size_t count);

#ifdef __cplusplus
}
#endif

#endif
