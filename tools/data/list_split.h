// Splits a list of images into parts, such as training and test images, with the same share of
// every class in each part.
#ifndef DOPPIO_TOOLS_DATA_LIST_SPLIT_H_
#define DOPPIO_TOOLS_DATA_LIST_SPLIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/image_lines.h"

namespace doppio {

// Returns the part of each line, or -1 for a line in no part. The images of a class, in random
// order, are cut at the cumulative sums of `fractions` times their number, rounded to the nearest
// integers. If there are more distinct labels than half the lines, all lines count as one class.
std::vector<int> PartOfEach(const std::vector<ImageLine>& lines,
                            const std::vector<double>& fractions, uint64_t seed);

// Returns "path label...\n" in the format that ReadImageLines reads.
std::string TextOf(const ImageLine& line);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_LIST_SPLIT_H_
