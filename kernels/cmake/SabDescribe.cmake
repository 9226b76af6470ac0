# Writes OUT, a header that says what a library was built from. Runs at every build and leaves the
# file alone where nothing changed. SOURCE is the folder whose revision counts.
if(NOT DESCRIBE)
    execute_process(COMMAND git -C ${SOURCE} describe --always --dirty
        OUTPUT_VARIABLE DESCRIBE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT DESCRIBE)
    set(DESCRIBE unknown)
endif()
string(REPLACE "," ";" TARGETS "${TARGETS}")
file(WRITE ${OUT}.new
    "#define SAB_BUILD_DESCRIBE \"${DESCRIBE}\"\n"
    "#define SAB_BUILD_TOOLKIT \"${TOOLKIT}\"\n"
    "#define SAB_BUILD_TARGETS \"${TARGETS}\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUT}.new ${OUT})
file(REMOVE ${OUT}.new)
