// The paths in lines of lists. White space separates the paths, which may also contain spaces.
#ifndef DOPPIO_DATA_RECORD_PATH_LINES_H_
#define DOPPIO_DATA_RECORD_PATH_LINES_H_

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace doppio {

// Returns `text` without the spaces and tabs around it.
std::string WithoutBlanks(const std::string& text);

// Returns the words of `line`, which white space separates.
std::vector<std::string> WordsOf(const std::string& line);

// Returns the paths in a line of any number of paths. Tabs separate them if the line has any.
// Otherwise the line is one path if it names a file, or if none of its words does; else its words
// are the paths.
std::vector<std::string> PathsIn(const std::string& line);

// Returns the two paths in a line. A tab separates them if the line has any. Otherwise the line has
// two words, or exactly one of its spaces separates the paths of two files that exist with `root`
// in front of them. Throws FileError at `at`: "each line is WHAT; ...".
std::pair<std::string, std::string> TwoPathsIn(const std::string& line, const std::string& root,
                                               const SourceLoc& at, const std::string& what);

}  // namespace doppio

#endif  // DOPPIO_DATA_RECORD_PATH_LINES_H_
