// Fuzzes the reader of LMDB databases.
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/read_records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("lmdb");
  doppio::WriteInput(path, doppio::Text(data, size));
  doppio::AllowErrors(
      [&] { doppio::ReadRecords(doppio::SourceAt(doppio::DataParameter::LMDB, path)); });
  return 0;
}
