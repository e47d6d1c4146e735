# One function per thing that the tree builds, so that every target gets the same warnings, sanitizers and include root.
include_guard(GLOBAL)

# Headers are spelled "strongbin/<folder>/<file>.h" everywhere. The tree has no folder "strongbin", so each module folder is
# linked below the build tree's include root under that name.
set(STRONGBIN_INCLUDE_ROOT "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${STRONGBIN_INCLUDE_ROOT}/strongbin")
foreach(folder stats pool arena memtable capi tools tests)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${STRONGBIN_INCLUDE_ROOT}/strongbin/${folder}" SYMBOLIC)
endforeach()

# Warnings and sanitizers are ours alone: never PUBLIC, so that no user inherits them.
function(strongbin_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<BOOL:${STRONGBIN_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 warns of overlapping copies inside std::string that cannot happen (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    # Of two functions with like bodies that are folded into one, g++ 12 goes on to believe what it knew of the values of
    # one of them (GCC bug 113907): a step of the lookup index took lists for entries that way.
    target_compile_options(${target} PRIVATE -fno-ipa-icf)
  endif()
  if(STRONGBIN_SANITIZE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # g++ 12 sees uninitialised reads in its own <regex> and <functional> once sanitizers have instrumented them.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
    target_compile_options(${target} PRIVATE -fsanitize=${STRONGBIN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${STRONGBIN_SANITIZE})
  endif()
endfunction()

# A test program need not be fast, and is compiled in five builds: no full optimisation of it, places instead of variables
# for the debugger, and no checks for undefined behaviour in it, which cost g++ up to its time again; the library under it has all.
function(strongbin_test_options target)
  strongbin_compile_options(${target})
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O1>" "$<$<CONFIG:Debug>:-g1>")
  if(STRONGBIN_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# What makes code that is loaded into other people's programs harder to abuse: checked copies, which need optimisation,
# and guarded stack frames where strings of others are read (STACK), which hot paths are spared. The sanitizers bring
# their own.
function(strongbin_hardening target)
  cmake_parse_arguments(arg "STACK" "" "" ${ARGN})
  if(NOT STRONGBIN_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<BOOL:${arg_STACK}>:-fstack-protector-strong>
      $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    target_link_options(${target} PRIVATE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  endif()
endfunction()

# strongbin_install_headers(FILES ...): of this folder, as "strongbin/<folder>/<file>".
function(strongbin_install_headers)
  cmake_parse_arguments(arg "" "" "FILES" ${ARGN})
  if(STRONGBIN_INSTALL)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
    install(FILES ${arg_FILES} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/strongbin/${folder}" COMPONENT libstrongbin-dev)
    list(TRANSFORM arg_FILES PREPEND "${folder}/")
    set_property(GLOBAL APPEND PROPERTY STRONGBIN_INSTALLED_HEADERS ${arg_FILES})
  endif()
endfunction()

# strongbin_module(NAME pool HDRS chunk_pool.h ... INSTALLS chunk_pool.h ... SRCS chunk_pool.cc ... DEPS strongbin::stats ...
# [PRIVATE_DEPS ...]): INSTALLS are those of HDRS that users include, and what these include.
function(strongbin_module)
  cmake_parse_arguments(arg "" "NAME" "HDRS;INSTALLS;SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  set(target strongbin_${arg_NAME})
  add_library(${target} STATIC ${arg_SRCS} ${arg_HDRS})
  add_library(strongbin::${arg_NAME} ALIAS ${target})
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${STRONGBIN_INCLUDE_ROOT}>")
  target_link_libraries(${target} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_NAME ${arg_NAME})
  strongbin_compile_options(${target})
  strongbin_hardening(${target})
  strongbin_install_headers(FILES ${arg_INSTALLS})
endfunction()

# strongbin_show_only(TARGET FILE): the shared library shows the symbols of packaging/FILE, and nothing else.
function(strongbin_show_only target file)
  set(list "${PROJECT_SOURCE_DIR}/packaging/${file}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(STRINGS "${list}" lines REGEX "^[^#!]")
  set(c "")
  set(cxx "")
  foreach(symbol IN LISTS lines)
    if(symbol MATCHES "::")
      string(APPEND cxx "      \"${symbol}\";\n")
    else()
      string(APPEND c "    ${symbol};\n")
    endif()
  endforeach()
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{\n  global:\n${c}    extern \"C++\" {\n${cxx}    };\n  local:\n    *;\n};\n")
  target_link_options(${target} PRIVATE "-Wl,--version-script=${script}")
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${script}")
endfunction()

# strongbin_test(NAME pool/chunk_pool_test [SINGLE_THREADED] DEPS strongbin::pool ... [LOADS target] [ONLY_IF STRONGBIN_TOOLS]):
# tests/pool/chunk_pool_test.cc as one test program, where the option after ONLY_IF is on. It finds the path of the library
# after LOADS, which it opens itself, in STRONGBIN_TEST_LIBRARY. The thread sanitizer is spared those that start no thread.
function(strongbin_test)
  cmake_parse_arguments(arg "SINGLE_THREADED" "NAME;LOADS;ONLY_IF" "DEPS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY STRONGBIN_LISTED_TESTS "${arg_NAME}.cc")
  if((arg_ONLY_IF AND NOT ${arg_ONLY_IF}) OR (arg_SINGLE_THREADED AND STRONGBIN_SANITIZE MATCHES "thread"))
    return()
  endif()
  string(REPLACE "/" "_" target ${arg_NAME})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${arg_NAME}.cc)
  target_link_libraries(${target} PRIVATE ${arg_DEPS} GTest::gtest_main GTest::gmock Threads::Threads)
  strongbin_test_options(${target})
  if(arg_LOADS)
    add_dependencies(${target} ${arg_LOADS})
    target_compile_definitions(${target} PRIVATE "STRONGBIN_TEST_LIBRARY=\"$<TARGET_FILE:${arg_LOADS}>\"")
  endif()
  gtest_discover_tests(${target} TEST_PREFIX "${arg_NAME}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()

# strongbin_c_test(NAME capi/c_test DEPS strongbin_shared): tests/capi/c_test.c as one test, in C11.
function(strongbin_c_test)
  cmake_parse_arguments(arg "" "NAME;ONLY_IF" "DEPS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY STRONGBIN_LISTED_TESTS "${arg_NAME}.c")
  if(arg_ONLY_IF AND NOT ${arg_ONLY_IF})
    return()
  endif()
  string(REPLACE "/" "_" target ${arg_NAME})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${arg_NAME}.c)
  target_link_libraries(${target} PRIVATE ${arg_DEPS})
  strongbin_test_options(${target})
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  add_test(NAME ${arg_NAME} COMMAND ${target})
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT 600)
endfunction()

# strongbin_preloaded_test(NAME pool/resident_size_test ALLOCATOR jemalloc LIBRARY libjemalloc.so.2): a test program once more, with
# another allocator preloaded; it finds the allocator's name in STRONGBIN_TEST_ALLOCATOR. Skipped where it is not installed.
function(strongbin_preloaded_test)
  cmake_parse_arguments(arg "" "NAME;ALLOCATOR;LIBRARY" "" ${ARGN})
  if(STRONGBIN_SANITIZE)
    return() # sanitizers have an allocator of their own
  endif()
  string(REPLACE "/" "_" target ${arg_NAME})
  set(name ${arg_NAME}.preloaded_${arg_ALLOCATOR})
  find_library(STRONGBIN_PRELOAD_${arg_ALLOCATOR} NAMES ${arg_LIBRARY})
  if(STRONGBIN_PRELOAD_${arg_ALLOCATOR})
    add_test(NAME ${name} COMMAND ${target})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600
      ENVIRONMENT "LD_PRELOAD=${STRONGBIN_PRELOAD_${arg_ALLOCATOR}};STRONGBIN_TEST_ALLOCATOR=${arg_ALLOCATOR}")
  else()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${arg_LIBRARY} is not installed")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
  endif()
endfunction()

# strongbin_test_library(NAME memtable/rocksdb/differential SRCS ... DEPS ... [ONLY_IF STRONGBIN_TOOLS]): what several test
# programs share, as target memtable_rocksdb_differential; sources are named below tests/memtable/rocksdb.
function(strongbin_test_library)
  cmake_parse_arguments(arg "" "NAME;ONLY_IF" "SRCS;DEPS" ${ARGN})
  if(arg_ONLY_IF AND NOT ${arg_ONLY_IF})
    return()
  endif()
  string(REPLACE "/" "_" target ${arg_NAME})
  get_filename_component(folder ${arg_NAME} DIRECTORY)
  list(TRANSFORM arg_SRCS PREPEND ${PROJECT_SOURCE_DIR}/tests/${folder}/)
  add_library(${target} STATIC ${arg_SRCS})
  target_link_libraries(${target} PUBLIC ${arg_DEPS} GTest::gtest Threads::Threads)
  strongbin_test_options(${target})
endfunction()

# strongbin_python_test(NAME tools/check_includes_test [ARGS ...] [ONLY_IF STRONGBIN_TOOLS]):
# tests/tools/check_includes_test.py as one test, where the option after ONLY_IF is on; exit status 77 is "skipped".
function(strongbin_python_test)
  cmake_parse_arguments(arg "" "NAME;ONLY_IF" "ARGS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY STRONGBIN_LISTED_TESTS "${arg_NAME}.py")
  if(arg_ONLY_IF AND NOT ${arg_ONLY_IF})
    return()
  endif()
  add_test(NAME ${arg_NAME} COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/${arg_NAME}.py" ${arg_ARGS})
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()

# strongbin_markdown_example(NAME readme_example FILE README.md DEPS ... PRINTS REGEX): the ```cpp or ```c block of a page that
# stands below "<!-- tested: NAME -->", as a test program, whose output must match.
function(strongbin_markdown_example)
  cmake_parse_arguments(arg "" "NAME;FILE;PRINTS" "DEPS" ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${arg_FILE}")
  file(READ "${PROJECT_SOURCE_DIR}/${arg_FILE}" page)
  if(NOT page MATCHES "<!-- tested: ${arg_NAME} -->\n+```(cpp|c)\n([^`]*)```")
    message(FATAL_ERROR "${arg_FILE} has no example ${arg_NAME}")
  endif()
  string(REPLACE "cpp" "cc" ending "${CMAKE_MATCH_1}")
  file(GENERATE OUTPUT "${arg_NAME}.${ending}" CONTENT "${CMAKE_MATCH_2}")
  add_executable(${arg_NAME} "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.${ending}")
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS})
  strongbin_compile_options(${arg_NAME})
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT 60
    PASS_REGULAR_EXPRESSION "${arg_PRINTS}" FAIL_REGULAR_EXPRESSION "Sanitizer: ;runtime error: ")
endfunction()

# Stops the configuration when a test lies on disk that no line of tests/CMakeLists.txt names.
function(strongbin_require_all_tests_listed)
  file(GLOB_RECURSE on_disk CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/tests"
    "${PROJECT_SOURCE_DIR}/tests/*_test.cc" "${PROJECT_SOURCE_DIR}/tests/*_test.c" "${PROJECT_SOURCE_DIR}/tests/*_test.py")
  get_property(listed GLOBAL PROPERTY STRONGBIN_LISTED_TESTS)
  list(REMOVE_ITEM on_disk ${listed})
  if(on_disk)
    list(JOIN on_disk "\n  tests/" unlisted)
    message(FATAL_ERROR "Tests that tests/CMakeLists.txt does not list and that would never run:\n  tests/${unlisted}")
  endif()
endfunction()
