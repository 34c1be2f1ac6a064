/* SPDX-License-Identifier: Apache-2.0
 *
 * oneTBB: a continue_node for each node, as its documentation builds dependency graphs. The graph's arena counts the
 * thread that waits among its threads. Package.swift defines INTERLOCK_BENCH_TBB where oneTBB is there.
 */
#include "flow_graph.h"

#ifdef INTERLOCK_BENCH_TBB

#include "heap.h"

#include <deque>
#include <oneapi/tbb/flow_graph.h>

namespace {

using oneapi::tbb::flow::continue_msg;
using oneapi::tbb::flow::graph;
using Node = oneapi::tbb::flow::continue_node<continue_msg>;

/* The optimiser must not see that a result is unused. */
void keep(size_t number) {
    asm volatile("" : : "r"(number));
}

/* The nodes' places do not change as the deque grows: a node cannot be moved. */
void make(graph &graph, std::deque<Node> &nodes, const intptr_t *above, size_t count) {
    for (size_t index = 0; index < count; ++index) {
        nodes.emplace_back(graph, [index](const continue_msg &) { keep(index); });
        if (above[index] >= 0) {
            make_edge(nodes[static_cast<size_t>(above[index])], nodes.back());
        }
    }
}

} // namespace

bool flow_graph_is_there(void) {
    return true;
}

void flow_graph_run(const intptr_t *above, size_t count) {
    graph graph;
    std::deque<Node> nodes;
    make(graph, nodes, above, count);
    for (size_t index = 0; index < count; ++index) {
        if (above[index] < 0) {
            nodes[index].try_put(continue_msg());
        }
    }
    graph.wait_for_all();
}

size_t flow_graph_bytes(const intptr_t *above, size_t count) {
    graph graph;
    size_t before = heap_bytes();
    std::deque<Node> nodes;
    make(graph, nodes, above, count);
    return (heap_bytes() - before) / count;
}

#else

bool flow_graph_is_there(void) {
    return false;
}

void flow_graph_run(const intptr_t *, size_t) {}

size_t flow_graph_bytes(const intptr_t *, size_t) {
    return 0;
}

#endif
