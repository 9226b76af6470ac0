# find_package(sab): the target sab::abi and the function sab_add_library().
include(${CMAKE_CURRENT_LIST_DIR}/sabTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/SabLibrary.cmake)
