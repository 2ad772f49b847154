// How images become the input of a net.
#ifndef DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_
#define DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_

#include <optional>

#include "core/net/spec/spec.h"

namespace doppio {

// Of the first layer that reads images, whose source may be missing, or else as the net's file
// says. Opens the source. Throws what the layer finds wrong with its fields, and FileError for a
// mean file that cannot be read.
std::optional<Preprocessing> DescribePreprocessing(const NetSpec& net);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_
