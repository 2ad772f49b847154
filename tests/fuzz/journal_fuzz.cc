// Fuzzes the reader of sweep journals.
#include <sys/stat.h>

#include "tests/fuzz/fuzz_input.h"
#include "tools/sweep/sweep_journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string folder = doppio::FuzzPath("sweep");
  mkdir(folder.c_str(), 0700);  // fails from the second input on
  doppio::WriteInput(folder + "/sweep.jsonl", doppio::Text(data, size));
  doppio::AllowErrors([&] { doppio::SweepJournal(folder, false); });
  return 0;
}
