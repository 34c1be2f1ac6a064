# SPDX-License-Identifier: Apache-2.0
#
# The peers written in Rust, as one static library that cargo builds offline from the distribution's
# crates. Without cargo, or without those crates, they are left out.
find_program(INTERLOCK_BENCH_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin")
file(GLOB interlock_bench_crates LIST_DIRECTORIES ON
    /usr/share/cargo/registry/parking_lot-0.12* /usr/share/cargo/registry/crossbeam-queue-0.3*)
list(LENGTH interlock_bench_crates interlock_bench_crate_count)

if(INTERLOCK_BENCH_CARGO AND interlock_bench_crate_count GREATER_EQUAL 2)
    set(interlock_bench_rust "${CMAKE_CURRENT_SOURCE_DIR}/rust")
    set(interlock_bench_rust_build "${CMAKE_CURRENT_BINARY_DIR}/rust")
    set(interlock_bench_rust_library "${interlock_bench_rust_build}/release/libinterlock_bench_peers.a")
    file(GLOB interlock_bench_rust_sources CONFIGURE_DEPENDS
        "${interlock_bench_rust}/src/*.rs" "${interlock_bench_rust}/Cargo.toml" "${interlock_bench_rust}/.cargo/*")
    # In its own folder: cargo reads .cargo/config.toml from where it is run.
    add_custom_command(
        OUTPUT "${interlock_bench_rust_library}"
        COMMAND "${INTERLOCK_BENCH_CARGO}" build --release --offline --quiet
                --target-dir "${interlock_bench_rust_build}"
        DEPENDS ${interlock_bench_rust_sources}
        WORKING_DIRECTORY "${interlock_bench_rust}"
        COMMENT "Building the peers written in Rust"
        VERBATIM)
    add_custom_target(bench_rust DEPENDS "${interlock_bench_rust_library}")
    foreach(peer parking_lot crossbeam)
        add_library(bench_peer_${peer} INTERFACE)
        add_dependencies(bench_peer_${peer} bench_rust)
        target_link_libraries(bench_peer_${peer} INTERFACE
            "${interlock_bench_rust_library}" Threads::Threads ${CMAKE_DL_LIBS} m)
    endforeach()
else()
    interlock_bench_missing(parking_lot "cargo librust-parking-lot-dev")
    interlock_bench_missing(crossbeam "cargo librust-crossbeam-queue-dev")
endif()
