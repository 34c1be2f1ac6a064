# SPDX-License-Identifier: Apache-2.0
#
# Searches for the peers' C and C++ libraries: a target bench_peer_NAME for each library found, and a line in
# INTERLOCK_BENCH_MISSING for each that is missing.
set(INTERLOCK_BENCH_MISSING "")

macro(interlock_bench_missing name package)
    message(STATUS "Benchmarks: ${name} not found (Debian: ${package})")
    list(APPEND INTERLOCK_BENCH_MISSING "${name} was not found when this was built (Debian: ${package})")
endmacro()

# interlock_bench_peer(NAME PACKAGE FOUND LIBRARIES...): the target, if FOUND is true.
macro(interlock_bench_peer name package found)
    if(${found})
        add_library(bench_peer_${name} INTERFACE)
        target_link_libraries(bench_peer_${name} INTERFACE ${ARGN})
    else()
        interlock_bench_missing(${name} ${package})
    endif()
endmacro()

find_package(TBB CONFIG QUIET)
interlock_bench_peer(tbb libtbb-dev TBB_FOUND TBB::tbb)

find_package(absl CONFIG QUIET)
interlock_bench_peer(absl libabsl-dev absl_FOUND absl::synchronization)

# Boost_FOUND alone is not enough: it is true where another package's own search has found the headers only.
find_package(Boost 1.70 CONFIG QUIET COMPONENTS thread)
if(TARGET Boost::thread)
    set(INTERLOCK_BENCH_BOOST_FOUND ON)
endif()
interlock_bench_peer(boost libboost-thread-dev INTERLOCK_BENCH_BOOST_FOUND Boost::thread Boost::headers)

# The rest have no CMake files; their headers are on the default path.
find_path(INTERLOCK_BENCH_NSYNC_INCLUDE nsync.h)
find_library(INTERLOCK_BENCH_NSYNC nsync_cpp)
if(INTERLOCK_BENCH_NSYNC AND INTERLOCK_BENCH_NSYNC_INCLUDE)
    set(INTERLOCK_BENCH_NSYNC_FOUND ON)
endif()
interlock_bench_peer(nsync libnsync-dev INTERLOCK_BENCH_NSYNC_FOUND ${INTERLOCK_BENCH_NSYNC})

# The parts of Concurrency Kit in use are inline.
find_path(INTERLOCK_BENCH_CK_INCLUDE ck_brlock.h)
interlock_bench_peer(ck libck-dev INTERLOCK_BENCH_CK_INCLUDE)

find_path(INTERLOCK_BENCH_READERWRITER_INCLUDE readerwritercircularbuffer.h)
interlock_bench_peer(readerwriterqueue libreaderwriterqueue-dev INTERLOCK_BENCH_READERWRITER_INCLUDE)

find_path(INTERLOCK_BENCH_CONCURRENTQUEUE_INCLUDE concurrentqueue/concurrentqueue.h)
interlock_bench_peer(concurrentqueue libconcurrentqueue-dev INTERLOCK_BENCH_CONCURRENTQUEUE_INCLUDE)

# Of DPDK only the ring is linked: the whole library would bring drivers and their constructors.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(INTERLOCK_BENCH_DPDK QUIET libdpdk)
endif()
find_library(INTERLOCK_BENCH_RTE_RING rte_ring)
if(INTERLOCK_BENCH_DPDK_FOUND AND INTERLOCK_BENCH_RTE_RING)
    set(INTERLOCK_BENCH_RTE_FOUND ON)
endif()
interlock_bench_peer(dpdk libdpdk-dev INTERLOCK_BENCH_RTE_FOUND ${INTERLOCK_BENCH_RTE_RING})
if(TARGET bench_peer_dpdk)
    # Its headers need its configuration first; its choice of processor (-march) stays out, so that all
    # contenders are compiled for the same one.
    list(FILTER INTERLOCK_BENCH_DPDK_CFLAGS_OTHER EXCLUDE REGEX "^-march")
    target_include_directories(bench_peer_dpdk SYSTEM INTERFACE ${INTERLOCK_BENCH_DPDK_INCLUDE_DIRS})
    target_compile_options(bench_peer_dpdk INTERFACE -include rte_config.h)
    # They copy elements of 64 and 256 bytes as words of 32 bits, which may tear them where the compiler
    # trusts the types.
    set_source_files_properties(rings/peers/dpdk.cpp PROPERTIES COMPILE_OPTIONS -fno-strict-aliasing)
endif()

find_path(INTERLOCK_BENCH_UV_INCLUDE uv.h)
find_library(INTERLOCK_BENCH_UV uv)
if(INTERLOCK_BENCH_UV AND INTERLOCK_BENCH_UV_INCLUDE)
    set(INTERLOCK_BENCH_UV_FOUND ON)
endif()
interlock_bench_peer(uv libuv1-dev INTERLOCK_BENCH_UV_FOUND ${INTERLOCK_BENCH_UV})

# libdispatch is the Swift toolchain's, whose compiler builds this, or the distribution's.
get_filename_component(interlock_bench_toolchain "${CMAKE_CXX_COMPILER}" DIRECTORY)
find_path(INTERLOCK_BENCH_DISPATCH_INCLUDE dispatch/dispatch.h HINTS "${interlock_bench_toolchain}/../lib/swift")
find_library(INTERLOCK_BENCH_DISPATCH dispatch HINTS "${interlock_bench_toolchain}/../lib/swift/linux")
if(INTERLOCK_BENCH_DISPATCH AND INTERLOCK_BENCH_DISPATCH_INCLUDE)
    set(INTERLOCK_BENCH_DISPATCH_FOUND ON)
endif()
interlock_bench_peer(dispatch "libdispatch-dev, or a Swift toolchain" INTERLOCK_BENCH_DISPATCH_FOUND
    ${INTERLOCK_BENCH_DISPATCH})
if(TARGET bench_peer_dispatch)
    target_include_directories(bench_peer_dispatch SYSTEM INTERFACE ${INTERLOCK_BENCH_DISPATCH_INCLUDE})
endif()
