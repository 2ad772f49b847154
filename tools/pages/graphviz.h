// The program `dot` of graphviz, where it is installed.
#ifndef DOPPIO_TOOLS_PAGES_GRAPHVIZ_H_
#define DOPPIO_TOOLS_PAGES_GRAPHVIZ_H_

#include <string>

namespace doppio {

// Has `dot` lay out a graph in its language and write it to `path` as `format` ("svg", "png").
// Throws FileError when there is no such program, or it fails; what it says about that is on
// standard error.
void RunDot(const std::string& graph, const std::string& format, const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_GRAPHVIZ_H_
