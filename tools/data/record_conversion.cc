#include "tools/data/record_conversion.h"

#include <algorithm>
#include <memory>

#include "tools/cli/removed_on_signals.h"
#include "tools/data/count_progress.h"

namespace doppio {
namespace {

// Returns the number of digits of all keys. With equal lengths, keys sort like their numbers.
size_t KeyDigits(int64_t records, int least) {
  return std::max(std::to_string(records - 1).size(), static_cast<size_t>(least));
}

void PutRecords(const Source& source, const ConversionOptions& options, int key_digits,
                DatabaseWriter* writer) {
  const size_t digits = KeyDigits(source.size(), key_digits);
  CountProgress progress(source.size(), "files");
  Record record;
  int64_t count = 0;
  for (const int64_t i : OrderOfRecords(source.size(), options)) {
    source.Read(i, &record);
    const std::string number = std::to_string(count);
    writer->Put(std::string(digits - number.size(), '0') + number,
                MakePixelDatum(record).SerializeAsString());
    progress.Done(++count);
  }
}

std::vector<std::string> Unfinished(const std::vector<RecordConversion>& conversions) {
  std::vector<std::string> folders;
  for (const RecordConversion& conversion : conversions) {
    folders.push_back(DatabaseWriter::UnfinishedFolder(conversion.database));
  }
  return folders;
}

}  // namespace

void ConvertRecords(const std::vector<RecordConversion>& conversions, const std::string& backend,
                    int key_digits, const ConversionOptions& options) {
  const RemovedOnSignals removed(Unfinished(conversions));
  std::vector<std::unique_ptr<DatabaseWriter>> writers;
  for (const RecordConversion& conversion : conversions) {
    writers.push_back(std::make_unique<DatabaseWriter>(backend, conversion.database));
  }
  for (size_t i = 0; i < conversions.size(); ++i) {
    PutRecords(*conversions[i].source, options, key_digits, writers[i].get());
  }
  for (const auto& writer : writers) writer->Complete();
  for (const auto& writer : writers) writer->Finish();
}

}  // namespace doppio
