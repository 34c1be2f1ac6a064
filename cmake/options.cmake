# SPDX-License-Identifier: Apache-2.0
#
# How the project compiles its own code: one interface target, interlock_options, which every target here links
# privately and no package exports. As a part of another project it has no warning.
add_library(interlock_options INTERFACE)
if(interlock_is_top_level)
    target_compile_options(interlock_options INTERFACE -Wall -Wextra -Wpedantic)
else()
    target_compile_options(interlock_options INTERFACE -w) # a parent's warnings, and its -Werror, are for its own code
endif()
if(INTERLOCK_WERROR)
    target_compile_options(interlock_options INTERFACE -Werror)
endif()

include(CheckCCompilerFlag)
if(INTERLOCK_PACKAGE)
    # No name of a folder in what is built; the longer one last, as the last that fits is taken.
    target_compile_options(interlock_options INTERFACE
        "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=."
        -fstack-protector-strong "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
    target_link_options(interlock_options INTERFACE "LINKER:-z,relro" "LINKER:-z,now")
endif()

# clang 20 and later check ILK_NONBLOCKING.
check_c_compiler_flag(-Wfunction-effects INTERLOCK_HAVE_FUNCTION_EFFECTS)
if(INTERLOCK_HAVE_FUNCTION_EFFECTS)
    target_compile_options(interlock_options INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wfunction-effects>)
endif()

if(INTERLOCK_SANITIZE)
    string(REPLACE "," ";" interlock_sanitizers "${INTERLOCK_SANITIZE}")
    foreach(sanitizer IN LISTS interlock_sanitizers)
        if(NOT sanitizer MATCHES "^(address|undefined|thread|realtime|fuzzer-no-link)$")
            message(FATAL_ERROR "INTERLOCK_SANITIZE: unknown sanitizer '${sanitizer}'; "
                                "there are address, undefined, thread, realtime and fuzzer-no-link")
        endif()
    endforeach()
    set(interlock_sanitize_flags "-fsanitize=${INTERLOCK_SANITIZE}" -fno-omit-frame-pointer)
    if("undefined" IN_LIST interlock_sanitizers)
        # A finding ends the program: a test that prints it and passes would hide it.
        list(APPEND interlock_sanitize_flags -fno-sanitize-recover=undefined)
    endif()
    target_compile_options(interlock_options INTERFACE ${interlock_sanitize_flags})
    target_link_options(interlock_options INTERFACE ${interlock_sanitize_flags})

    # The clang of a Swift toolchain: its sanitizer runtimes call libdispatch's, which the toolchain has.
    get_filename_component(interlock_compiler "${CMAKE_C_COMPILER}" REALPATH)
    get_filename_component(interlock_compiler_folder "${interlock_compiler}" DIRECTORY)
    get_filename_component(interlock_swift_runtime "${interlock_compiler_folder}/../lib/swift/linux" ABSOLUTE)
    if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND EXISTS "${interlock_compiler_folder}/ld.lld")
        # Its default linker, gold, cannot make a shared library that AddressSanitizer watches.
        target_link_options(interlock_options INTERFACE -fuse-ld=lld)
    endif()
    if("thread" IN_LIST interlock_sanitizers AND EXISTS "${interlock_swift_runtime}/libdispatch.so")
        target_link_libraries(interlock_options INTERFACE
            "${interlock_swift_runtime}/libdispatch.so" "${interlock_swift_runtime}/libBlocksRuntime.so")
    endif()
endif()
