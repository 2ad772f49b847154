// Describes how images become the input of a net.
#ifndef DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_
#define DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_

#include <optional>

#include "core/net/spec/spec.h"

namespace doppio {

// Returns the preprocessing of the first layer that reads images, or else the record in the net's
// file. Opens the layer's source if it exists. Throws UserError for mistakes in the layer's fields,
// and FileError if a mean file cannot be read.
std::optional<Preprocessing> DescribePreprocessing(const NetSpec& net);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_
