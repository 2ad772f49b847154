// Fuzzes the reader of database values: Datum and AnnotatedDatum.
#include "data/source/datum.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/read_records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  doppio::AllowErrors([&] {
    doppio::Record record;
    doppio::ReadDatum(data, size, &record);
    doppio::ReadPixels(record);
  });
  return 0;
}
