# Headers that most files include and that take seconds each to parse (fmt 2 s, JSON 4 s, GoogleTest 2 s): compiled once,
# one set for libraries and one for tests. A file with its own instruction-set flags sets SKIP_PRECOMPILE_HEADERS.
function(quern_precompiled_headers)
  file(WRITE ${PROJECT_BINARY_DIR}/pch/empty.cc "")
  file(WRITE ${PROJECT_BINARY_DIR}/pch/empty_main.cc "int main() {}\n")
  set(headers <algorithm> <filesystem> <functional> <map> <memory> <optional> <span> <string> <string_view> <unordered_map>
      <variant> <vector> <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp>)
  set(libraries tl::expected fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json OpenSSL::Crypto Threads::Threads)
  add_library(quern_pch STATIC ${PROJECT_BINARY_DIR}/pch/empty.cc)
  target_link_libraries(quern_pch PRIVATE ${libraries})
  target_precompile_headers(quern_pch PRIVATE ${headers})
  if(QUERN_BUILD_TESTS)
    add_executable(quern_test_pch ${PROJECT_BINARY_DIR}/pch/empty_main.cc)
    target_link_libraries(quern_test_pch PRIVATE ${libraries} GTest::gtest GTest::gmock)
    target_precompile_headers(quern_test_pch PRIVATE ${headers} <gtest/gtest.h> <gmock/gmock.h>)
  endif()
endfunction()

# quern_library(NAME SRCS ... DEPS ... [TESTS ...] [TEST_DEPS ...] [TEST_LABELS ...])
#
# One static library per room, named quern_<room>. A room can include only what it links: its include
# path is src/, and tests/arch checks the include graph itself against the table of layers.
# TESTS become one executable quern_<room>_test, run by ctest with the given labels (default: null).
function(quern_library NAME)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;TESTS;TEST_DEPS;TEST_LABELS" ${ARGN})
  set(target quern_${NAME})
  if(ARG_SRCS)
    add_library(${target} STATIC ${ARG_SRCS})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${target} PUBLIC ${ARG_DEPS})
    target_precompile_headers(${target} REUSE_FROM quern_pch)
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
  endif()
  if(ARG_TESTS AND QUERN_BUILD_TESTS)
    quern_test(${target}_test SRCS ${ARG_TESTS} DEPS ${target} ${ARG_TEST_DEPS} LABELS ${ARG_TEST_LABELS})
  endif()
endfunction()

# quern_test(NAME SRCS ... DEPS ... [LABELS ...]): a GoogleTest executable. QUERN_SOURCE_DIR is defined,
# so that tests find the demo checkpoints and the golden values of the checkout.
function(quern_test NAME)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS null)
  endif()
  add_executable(${NAME} ${ARG_SRCS})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE QUERN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_precompile_headers(${NAME} REUSE_FROM quern_test_pch)
  add_test(NAME ${NAME} COMMAND ${NAME})
  set(timeout 600)
  if(QUERN_SANITIZER)
    set(timeout 3000)  # model tests run some ten times slower
  endif()
  set_tests_properties(${NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${timeout})
endfunction()

# quern_bench(NAME SRCS ... DEPS ...): a Google Benchmark executable, built with QUERN_BUILD_BENCHES.
function(quern_bench NAME)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  if(NOT QUERN_BUILD_BENCHES)
    return()
  endif()
  add_executable(${NAME} ${ARG_SRCS})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} benchmark::benchmark benchmark::benchmark_main)
endfunction()
