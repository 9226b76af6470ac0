# How a kernel library is built: in this tree, and by others through find_package(sab).
#
#   sab_enable_cuda()                   CUDA by SAB_CUDA = AUTO | ON | OFF; sets SAB_HAVE_CUDA
#   sab_add_library(NAME SOURCES ...)   a module lib<NAME>.so that exports sab_library and nothing else
#
# A source may include sab_build.h: SAB_BUILD_DESCRIBE (git describe), SAB_BUILD_TOOLKIT ("13.0" or
# "none"), SAB_BUILD_TARGETS ("90a;100a"), and test SAB_HAVE_CUDA.
include_guard(GLOBAL)
set(SAB_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")

# A macro: languages can only be enabled at directory scope.
macro(sab_enable_cuda)
    set(SAB_CUDA AUTO CACHE STRING "build the CUDA parts: AUTO, ON or OFF")
    set_property(CACHE SAB_CUDA PROPERTY STRINGS AUTO ON OFF)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES "90a;100a;120a" CACHE STRING "targets of the CUDA kernels")
    endif()
    set(SAB_HAVE_CUDA OFF)
    if(NOT SAB_CUDA STREQUAL "OFF")
        include(CheckLanguage)
        check_language(CUDA)
        if(CMAKE_CUDA_COMPILER)
            enable_language(CUDA)
            set(SAB_HAVE_CUDA ON)
        elseif(NOT SAB_CUDA STREQUAL "AUTO")
            message(FATAL_ERROR "SAB_CUDA=${SAB_CUDA}, but no CUDA compiler was found; "
                "set CMAKE_CUDA_COMPILER, or SAB_CUDA=OFF")
        endif()
    endif()
endmacro()

# Gives a target the header sab_build.h, renewed at every build.
function(sab_write_build_header name toolkit targets)
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}_build)
    file(MAKE_DIRECTORY ${generated})
    add_custom_target(${name}_describe
        COMMAND ${CMAKE_COMMAND} -DOUT=${generated}/sab_build.h -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}
            -DDESCRIBE=${SAB_DESCRIBE} -DTOOLKIT=${toolkit} -DTARGETS=${targets}
            -P ${SAB_CMAKE_DIR}/SabDescribe.cmake
        BYPRODUCTS ${generated}/sab_build.h VERBATIM)
    add_dependencies(${name} ${name}_describe)
    target_include_directories(${name} PRIVATE ${generated})
endfunction()

# Machine code only: code for 90a, 100a or 120a cannot be compiled anew for another chip from PTX.
function(sab_real_architectures name)
    if(SAB_HAVE_CUDA)
        set(real ${CMAKE_CUDA_ARCHITECTURES})
        list(TRANSFORM real REPLACE "^([0-9]+[af]?)$" "\\1-real")
        set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${real}")
    endif()
endfunction()

function(sab_add_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
    list(APPEND ARG_SOURCES ${ARG_UNPARSED_ARGUMENTS})
    add_library(${name} MODULE ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE sab::abi ${ARG_LIBRARIES})
    set_target_properties(${name} PROPERTIES
        C_STANDARD 17 C_STANDARD_REQUIRED ON CXX_STANDARD 17 CUDA_STANDARD 17
        POSITION_INDEPENDENT_CODE ON
        C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON
        CUDA_RUNTIME_LIBRARY Static)

    sab_real_architectures(${name})

    # Two builds of a library share a process: no symbol of one may be taken for the other's.
    target_compile_options(${name} PRIVATE
        $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-gnu-unique>)
    # Machine code stays readable in the file: cmake/cubin_usage.c.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--no-compress>)
    set(map ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
    file(WRITE ${map} "{ global: sab_library; local: *; };\n")
    target_link_options(${name} PRIVATE "LINKER:--version-script=${map}")
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${map})

    set(toolkit none)
    set(targets "")
    if(CMAKE_CUDA_COMPILER_VERSION AND "${ARG_SOURCES}" MATCHES "\\.cu(;|$)")
        string(REGEX MATCH "^[0-9]+\\.[0-9]+" toolkit ${CMAKE_CUDA_COMPILER_VERSION})
        string(REGEX REPLACE "-(real|virtual)" "" targets "${CMAKE_CUDA_ARCHITECTURES}")
        string(REPLACE ";" "," targets "${targets}")
        target_compile_definitions(${name} PRIVATE SAB_HAVE_CUDA=1)
    endif()
    sab_write_build_header(${name} ${toolkit} "${targets}")
endfunction()

# sab_build.h for a target that is no kernel library: SAB_BUILD_DESCRIBE and the toolkit.
function(sab_describe_header name)
    set(toolkit none)
    if(SAB_HAVE_CUDA)
        string(REGEX MATCH "^[0-9]+\\.[0-9]+" toolkit ${CMAKE_CUDA_COMPILER_VERSION})
    endif()
    sab_write_build_header(${name} ${toolkit} "")
endfunction()
