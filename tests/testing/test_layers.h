// The weights of TestProbe's loss; see test_layers.cc.
#ifndef DOPPIO_TESTS_TESTING_TEST_LAYERS_H_
#define DOPPIO_TESTS_TESTING_TEST_LAYERS_H_

#include <cstdint>

#include "core/base/random.h"

namespace doppio {

// The derivative of the probe's loss by element `element` of its bottom `bottom`.
double ProbeWeight(int bottom, int64_t element);

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_TEST_LAYERS_H_
