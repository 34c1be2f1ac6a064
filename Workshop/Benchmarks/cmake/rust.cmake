# SPDX-License-Identifier: Apache-2.0
#
# The peers written in Rust, as static libraries that cargo builds offline from the distribution's
# crates. Without cargo, or without its crates, a library is left out.
find_program(INTERLOCK_BENCH_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin")

# interlock_bench_crate(NAME FOLDER LIBRARY CRATES crate... PEERS peer=package...): a target bench_peer_PEER each.
function(interlock_bench_crate name folder library)
    cmake_parse_arguments(crate "" "" "CRATES;PEERS" ${ARGN})
    set(found ON)
    foreach(needed IN LISTS crate_CRATES)
        file(GLOB places LIST_DIRECTORIES ON "/usr/share/cargo/registry/${needed}*")
        if(NOT places)
            set(found OFF)
        endif()
    endforeach()
    if(NOT INTERLOCK_BENCH_CARGO OR NOT found)
        foreach(peer IN LISTS crate_PEERS)
            string(REPLACE "=" ";" peer "${peer}")
            list(GET peer 0 peer_name)
            list(GET peer 1 package)
            interlock_bench_missing(${peer_name} "cargo ${package}")
        endforeach()
        set(INTERLOCK_BENCH_MISSING "${INTERLOCK_BENCH_MISSING}" PARENT_SCOPE)
        return()
    endif()
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
    set(build "${CMAKE_CURRENT_BINARY_DIR}/${folder}")
    set(archive "${build}/release/lib${library}.a")
    file(GLOB sources CONFIGURE_DEPENDS "${source}/src/*.rs" "${source}/Cargo.toml" "${source}/.cargo/*")
    # In its own folder: cargo reads .cargo/config.toml from where it is run.
    add_custom_command(
        OUTPUT "${archive}"
        COMMAND "${INTERLOCK_BENCH_CARGO}" build --release --offline --quiet --target-dir "${build}"
        DEPENDS ${sources}
        WORKING_DIRECTORY "${source}"
        COMMENT "Building the peers written in Rust (${name})"
        VERBATIM)
    add_custom_target(bench_${name} DEPENDS "${archive}")
    foreach(peer IN LISTS crate_PEERS)
        string(REGEX REPLACE "=.*" "" peer "${peer}")
        add_library(bench_peer_${peer} INTERFACE)
        add_dependencies(bench_peer_${peer} bench_${name})
        target_link_libraries(bench_peer_${peer} INTERFACE "${archive}" Threads::Threads ${CMAKE_DL_LIBS} m)
    endforeach()
endfunction()

interlock_bench_crate(rust rust interlock_bench_peers
    CRATES parking_lot-0.12 crossbeam-queue-0.3 crossbeam-channel-0.5
    PEERS parking_lot=librust-parking-lot-dev crossbeam=librust-crossbeam-queue-dev
          crossbeam_channel=librust-crossbeam-channel-dev)
interlock_bench_crate(rust_pools pool/rust interlock_bench_pools
    CRATES rayon-1
    PEERS rayon=librust-rayon-dev)
