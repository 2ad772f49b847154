// Finds classes that have far fewer images than others.
#ifndef DOPPIO_TOOLS_DATA_CLASS_BALANCE_H_
#define DOPPIO_TOOLS_DATA_CLASS_BALANCE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio {

// Returns "'rare' has 3 of 163 images", about the smallest class that has images, if the largest
// class has at least 5 times as many; else "". `counts` are the numbers of images by label, `names`
// those of the classes, or empty.
std::string RareClassText(const std::vector<int64_t>& counts,
                          const std::vector<std::string>& names);

// Returns the field of loss_param that weighs the classes: "class_counts: [160, 3]".
std::string ClassCountsText(const std::vector<int64_t>& counts);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_CLASS_BALANCE_H_
