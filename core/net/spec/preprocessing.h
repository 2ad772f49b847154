// Describes how images become the input of a net.
#ifndef DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_
#define DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_

#include <optional>

#include "core/net/spec/solver_spec.h"
#include "core/net/spec/spec.h"

namespace doppio {

// Returns the preprocessing of the first layer that reads images, or else the record in the net's
// file. Opens the layer's source if it exists. Throws UserError for mistakes in the layer's fields,
// and FileError if a mean file cannot be read.
std::optional<Preprocessing> DescribePreprocessing(const NetSpec& net);

// Returns the preprocessing of the first layer of phase TEST that reads images, for a net that does
// not use this layer. Returns nullopt if there is no such layer or the layer has a mistake.
std::optional<Preprocessing> DescribeTestImages(const NetSource& source);

// Returns the preprocessing for the use of a net after its training: that of phase TEST if it is
// known, completed by what only that of phase TRAIN records of the images.
std::optional<Preprocessing> ForUse(std::optional<Preprocessing> test,
                                    const std::optional<Preprocessing>& train);

// Returns the preprocessing for the use of the net in `source`. Throws as DescribePreprocessing.
std::optional<Preprocessing> DescribeForUse(const NetSource& source);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_PREPROCESSING_H_
