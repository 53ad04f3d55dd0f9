# Compiler flags that hold for the whole tree.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# -O3 costs a third more compile time and gains nothing outside the kernels, which ask for it themselves.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")

# The sloppiness is what ccache needs to cache files that use a precompiled header; base folder and no hash of the build
# folder let checkouts in different places share a cache.
find_program(QUERN_CCACHE ccache)
if(QUERN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${QUERN_CCACHE})
endif()

# -ffp-contract=off: g++ fuses a*b+c by itself once FMA is enabled, and a numeric function that two
# rooms share must give one result. Fused operations are written as std::fma.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-unused-parameter -Wno-missing-field-initializers
                    -ffp-contract=off -fno-math-errno)

if(QUERN_SANITIZER)
  add_compile_options(-fsanitize=${QUERN_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${QUERN_SANITIZER})
endif()
