// Names of classes in text files, a line each, by label: labels.txt, which `data convert` and
// `data split` write, and CIFAR's own lists.
#ifndef DOPPIO_DATA_SOURCE_CLASS_NAMES_H_
#define DOPPIO_DATA_SOURCE_CLASS_NAMES_H_

#include <string>
#include <vector>

namespace doppio {

// Blank lines at the end do not count. Throws FileError.
std::vector<std::string> ReadLabels(const std::string& path);

// The first of `files` in `folder` that exists; no names where none does.
std::vector<std::string> FindClassNames(const std::string& folder,
                                        const std::vector<std::string>& files);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_CLASS_NAMES_H_
