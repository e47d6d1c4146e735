# One function per thing that the tree builds, so that every target gets the same warnings, sanitizers and include root.
include_guard(GLOBAL)

# Headers are spelled "strongbin/<folder>/<file>.h" everywhere. The tree has no folder "strongbin", so each module folder is
# linked below the build tree's include root under that name.
set(STRONGBIN_INCLUDE_ROOT "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${STRONGBIN_INCLUDE_ROOT}/strongbin")
foreach(folder stats pool arena memtable tools tests)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${STRONGBIN_INCLUDE_ROOT}/strongbin/${folder}" SYMBOLIC)
endforeach()

# Warnings and sanitizers are ours alone: never PUBLIC, so that no user inherits them.
function(strongbin_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wnon-virtual-dtor
    $<$<BOOL:${STRONGBIN_WERROR}>:-Werror>)
  if(STRONGBIN_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${STRONGBIN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${STRONGBIN_SANITIZE})
  endif()
endfunction()

# strongbin_module(NAME pool HDRS chunk_pool.h ... SRCS chunk_pool.cc ... DEPS strongbin::stats ... [PRIVATE_DEPS ...])
function(strongbin_module)
  cmake_parse_arguments(arg "" "NAME" "HDRS;SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  set(target strongbin_${arg_NAME})
  add_library(${target} STATIC ${arg_SRCS} ${arg_HDRS})
  add_library(strongbin::${arg_NAME} ALIAS ${target})
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${STRONGBIN_INCLUDE_ROOT}>")
  target_link_libraries(${target} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_NAME ${arg_NAME})
  strongbin_compile_options(${target})
endfunction()

# strongbin_test(NAME pool/chunk_pool_test DEPS strongbin::pool ...): tests/pool/chunk_pool_test.cc as one test program.
function(strongbin_test)
  cmake_parse_arguments(arg "" "NAME" "DEPS" ${ARGN})
  string(REPLACE "/" "_" target ${arg_NAME})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${arg_NAME}.cc)
  target_link_libraries(${target} PRIVATE ${arg_DEPS} GTest::gtest_main GTest::gmock Threads::Threads)
  strongbin_compile_options(${target})
  gtest_discover_tests(${target} TEST_PREFIX "${arg_NAME}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
