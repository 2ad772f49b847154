// Finds the facts about the images of a source that its format does not store.
#ifndef DOPPIO_DATA_DECODE_SOURCE_FACTS_H_
#define DOPPIO_DATA_DECODE_SOURCE_FACTS_H_

#include "data/record/source.h"

namespace doppio {

// Returns source.facts(), completed from the images: images that Doppio decodes are BGR, images
// with one channel are GRAY. Assumes that encoded images have one size if 16 images at equal
// distances agree. Throws FileError if the first record cannot be read.
SourceFacts FactsOf(const Source& source);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_SOURCE_FACTS_H_
