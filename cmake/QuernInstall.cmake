# What `cmake --install` puts under the prefix, apart from the program itself (cli/CMakeLists.txt): the demo checkpoint where
# the program looks for it beside itself (src/engine/resolve.cc), and the licences. Golden values are for the tests only.
include(GNUInstallDirs)
install(DIRECTORY models/gemma4-nano DESTINATION share/quern/models PATTERN "golden.*" EXCLUDE)
install(FILES LICENSE models/WORDNET-LICENSE.txt DESTINATION ${CMAKE_INSTALL_DOCDIR})
