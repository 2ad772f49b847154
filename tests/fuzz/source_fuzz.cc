// Fuzzes the readers of all data sources that are one file: each source reads each input, once
// without labels and once with the input as the file of labels, too. A new source is therefore
// fuzzed without further files; a small valid file in the corpus gives the fuzzer a start.
#include <cstdlib>

#include "data/record/source.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/read_records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("source");
  doppio::WriteInput(path, doppio::Text(data, size));
  for (const std::string& name : doppio::Sources::Get().Names()) {
    if (!doppio::Sources::Get().Find(name)->needs_source) continue;
    doppio::DataParameter::DB backend;
    if (!doppio::DataParameter::DB_Parse(name, &backend)) std::abort();
    doppio::DataParameter parameter = doppio::SourceAt(backend, path);
    doppio::AllowErrors([&] { doppio::ReadRecords(parameter); });
    parameter.add_labels(path);
    doppio::AllowErrors([&] { doppio::ReadRecords(parameter); });
  }
  return 0;
}
