/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops are in go/select.go. Its goroutines share the threads of Go's scheduler.
 */
#include "../contender.h"

#include <dlfcn.h>

using namespace bench;

namespace {

/* Loaded by the process that measures. */
template <class Function> Function *in_go(const char *name) {
    static void *const library = dlopen(INTERLOCK_BENCH_GO, RTLD_NOW);
    void *const function = library != nullptr ? dlsym(library, name) : nullptr;
    if (function == nullptr) {
        fail(dlerror());
    }
    return reinterpret_cast<Function *>(function);
}

const Enlisted<Contender> go(5, {"Go select",
                                 [](unsigned producers, unsigned count) {
                                     return in_go<double(unsigned, unsigned)>("bench_go_select_flow")(producers, count);
                                 },
                                 [](unsigned count) { return in_go<double(unsigned)>("bench_go_select_trip")(count); }});

} // namespace
