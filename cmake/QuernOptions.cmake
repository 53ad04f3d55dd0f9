# Compiler flags that hold for the whole tree.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(QUERN_CCACHE ccache)
if(QUERN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${QUERN_CCACHE})
endif()

# -ffp-contract=off: g++ fuses a*b+c by itself once FMA is enabled, and a numeric function that two
# rooms share must give one result. Fused operations are written as std::fma.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-unused-parameter -Wno-missing-field-initializers
                    -ffp-contract=off -fno-math-errno)

if(QUERN_SANITIZER)
  add_compile_options(-fsanitize=${QUERN_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${QUERN_SANITIZER})
endif()
