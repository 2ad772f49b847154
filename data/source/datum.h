// Caffe's Datum, the value of every LMDB and LevelDB record.
#ifndef DOPPIO_DATA_SOURCE_DATUM_H_
#define DOPPIO_DATA_SOURCE_DATUM_H_

#include <cstddef>

#include "data/source/record.h"

namespace doppio {

// Or SSD's AnnotatedDatum, a Datum and its boxes; the two are told apart by their first byte.
// Throws FileError when `value` is no Datum or contradicts itself.
void ReadDatum(const void* value, size_t bytes, Record* record);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DATUM_H_
