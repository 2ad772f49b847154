#include "tools/commands/doppio_main.h"

int main(int argc, char** argv) { return doppio::DoppioMain({argv, argv + argc}); }
