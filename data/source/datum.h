// Parses Caffe's Datum, the value of every record in an LMDB or LevelDB database.
#ifndef DOPPIO_DATA_SOURCE_DATUM_H_
#define DOPPIO_DATA_SOURCE_DATUM_H_

#include <cstddef>

#include "data/record/record.h"

namespace doppio {

// Parses `value`, a Datum or SSD's AnnotatedDatum (a Datum with boxes), into `record`. The first
// byte distinguishes the two. A Datum of YOLO's databases has boxes, too: beside its image it has
// six floats for each. `record` owns copies of the data, so `value` may go away. Throws
// FileError if `value` is neither message or is inconsistent.
void ReadDatum(const void* value, size_t bytes, Record* record);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DATUM_H_
