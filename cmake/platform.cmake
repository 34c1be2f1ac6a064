# SPDX-License-Identifier: Apache-2.0
#
# Refuses targets that the library does not support, before anything is compiled.
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    message(FATAL_ERROR "Interlock needs a 64-bit target: its locks and rings keep pointers and counters in "
                        "64-bit atomics (this compiler's pointers have ${CMAKE_SIZEOF_VOID_P} bytes)")
endif()
