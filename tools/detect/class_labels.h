// The names of the classes of objects.
#ifndef DOPPIO_TOOLS_DETECT_CLASS_LABELS_H_
#define DOPPIO_TOOLS_DETECT_CLASS_LABELS_H_

#include <map>
#include <string>
#include <vector>

namespace doppio {

// Names by class. A class without a name is absent.
using ClassLabels = std::map<int, std::string>;

// Returns the names of classes in order. The first name is that of class 0 if it is "background",
// "__background__" or "none_of_the_above", else that of class 1.
ClassLabels LabelsInOrder(const std::vector<std::string>& names);

// Reads SSD's label map (a text file of `item { name: ... label: ... display_name: ... }`), or a
// text file with one name per line, in the order of LabelsInOrder. Throws FileError or UserError.
ClassLabels ReadClassLabels(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_CLASS_LABELS_H_
