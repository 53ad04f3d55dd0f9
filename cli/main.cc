#include "cli/app.h"

int main(int argc, char** argv) { return quern::cli::Main(argc, argv); }
