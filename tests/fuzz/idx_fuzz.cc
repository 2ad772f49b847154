// Fuzzes the reader of MNIST's files. The input is a file of images; the target writes a file with
// as many labels as the header announces.
#include <algorithm>

#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/read_records.h"

namespace {

constexpr uint32_t kMostLabels = 1000;

// Returns the number of images in an uncompressed header, or that of the compressed seed files.
uint32_t Rows(const uint8_t* data, size_t size) {
  constexpr uint32_t kRowsOfSeeds = 3;
  if (size < 8 || data[0] != 0) return kRowsOfSeeds;
  return uint32_t{data[4]} << 24 | data[5] << 16 | data[6] << 8 | data[7];
}

std::string Labels(uint32_t rows) {
  std::string file("\0\0\10\1", 4);
  for (const int shift : {24, 16, 8, 0}) file += static_cast<char>(rows >> shift);
  return file + std::string(rows, '\1');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input = doppio::FuzzPath("images"), labels = doppio::FuzzPath("labels");
  doppio::WriteInput(input, doppio::Text(data, size));
  doppio::WriteInput(labels, Labels(std::min(Rows(data, size), kMostLabels)));
  doppio::DataParameter parameter = doppio::SourceAt(doppio::DataParameter::IDX, input);
  parameter.add_labels(labels);
  doppio::AllowErrors([&] { doppio::ReadRecords(parameter); });
  return 0;
}
