// Runs graphviz's program `dot`, if it is installed.
#ifndef DOPPIO_TOOLS_PAGES_GRAPHVIZ_H_
#define DOPPIO_TOOLS_PAGES_GRAPHVIZ_H_

#include <string>

namespace doppio {

// Lays out `graph`, a text in the DOT language, and writes the drawing to `path` as `format`
// ("svg", "png"). Throws FileError if `dot` is not installed or fails; in the latter case `dot` has
// written the reason to standard error. Throws MemoryError if `graph` cannot be buffered.
void RunDot(const std::string& graph, const std::string& format, const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_GRAPHVIZ_H_
