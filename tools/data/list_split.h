// A list of images in parts, such as for training and for tests, each with the same share of every
// class.
#ifndef DOPPIO_TOOLS_DATA_LIST_SPLIT_H_
#define DOPPIO_TOOLS_DATA_LIST_SPLIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/image_lines.h"

namespace doppio {

// The part of each line; -1: of none. A class of n images, in a random order, is cut at the whole
// numbers nearest to n times the sums of fractions.
std::vector<int> PartOfEach(const std::vector<ImageLine>& lines,
                            const std::vector<double>& fractions, uint64_t seed);

// "path label...\n", as ReadImageLines reads it back.
std::string TextOf(const ImageLine& line);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_LIST_SPLIT_H_
