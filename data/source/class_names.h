// Text files of class names, one name per line, where line i names label i. Examples are
// labels.txt, which `data convert` and `data split` write, and the lists that CIFAR ships with.
#ifndef DOPPIO_DATA_SOURCE_CLASS_NAMES_H_
#define DOPPIO_DATA_SOURCE_CLASS_NAMES_H_

#include <string>
#include <vector>

namespace doppio {

// Returns the lines of the file without trailing blank lines. Throws FileError if the file cannot
// be read or is not text.
std::vector<std::string> ReadLabels(const std::string& path);

// Returns the class names in the first of `files` that exists in `folder`, or an empty vector if
// none exists. Throws FileError as ReadLabels does.
std::vector<std::string> FindClassNames(const std::string& folder,
                                        const std::vector<std::string>& files);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_CLASS_NAMES_H_
