// Reads records as training does, so that a sanitizer detects accesses outside their memory.
#ifndef DOPPIO_TESTS_FUZZ_READ_RECORDS_H_
#define DOPPIO_TESTS_FUZZ_READ_RECORDS_H_

#include <string>

#include "data/record/record.h"
#include "proto/data.pb.h"

namespace doppio {

// Decodes the record if it is an image file, and reads all its pixels.
void ReadPixels(const Record& record);

// Opens the source and reads its first records, with their names. Throws Error.
void ReadRecords(const DataParameter& parameter);

// Returns a DataParameter with this backend whose source is `path`.
DataParameter SourceAt(DataParameter::DB backend, const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TESTS_FUZZ_READ_RECORDS_H_
