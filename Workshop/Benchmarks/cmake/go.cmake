# SPDX-License-Identifier: Apache-2.0
#
# The peers written in Go, which needs no packages, as a library that their adapters load: the threads of its runtime
# would not outlive the fork before a measurement. Without go they are left out.
find_program(INTERLOCK_BENCH_GO go)
if(NOT INTERLOCK_BENCH_GO)
    interlock_bench_missing(go golang-go)
    return()
endif()
set(library "${CMAKE_CURRENT_BINARY_DIR}/go/libinterlock_bench_go.so")
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/wait_set/go/*.go")
add_custom_command(
    OUTPUT "${library}"
    COMMAND "${CMAKE_COMMAND}" -E env CGO_ENABLED=1 GO111MODULE=off "GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go/cache"
            "${INTERLOCK_BENCH_GO}" build -buildmode=c-shared -o "${library}" ${sources}
    DEPENDS ${sources}
    COMMENT "Building the peers written in Go"
    VERBATIM)
add_custom_target(bench_go DEPENDS "${library}")
add_library(bench_peer_go INTERFACE)
add_dependencies(bench_peer_go bench_go)
target_link_libraries(bench_peer_go INTERFACE ${CMAKE_DL_LIBS})
target_compile_definitions(bench_peer_go INTERFACE "INTERLOCK_BENCH_GO=\"${library}\"")
