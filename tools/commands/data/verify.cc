// `data verify`: reads and decodes all records and lists the damaged ones.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/text/printable.h"
#include "data/decode/decode.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/count_progress.h"
#include "tools/data/data_opened.h"
#include "tools/data/in_order.h"

namespace doppio {
namespace {

struct Checked {
  std::string mistake;  // "" if the record is intact
  size_t labels = 0;
};

Checked Check(const Source& source, int64_t index) {
  thread_local Record record;
  thread_local Image image;
  Checked checked;
  try {
    source.Read(index, &record);
    if (record.encoded != nullptr) {
      Decode(record.encoded, record.encoded_bytes, record.decode, &image);
    }
    checked.labels = record.labels.size();
  } catch (const FileError& e) {
    checked.mistake = e.message();
  }
  return checked;
}

}  // namespace

ExitCode DataVerify(const CommandLine& line, bool* began) {
  const OpenedData data = OpenData(line, line.files[0]);
  const Source& source = *data.source;
  *began = true;
  int64_t bad = 0;
  size_t labels = 0;  // label count of the first intact record
  nlohmann::json entries = nlohmann::json::array();
  CountProgress progress(source.size(), "records");
  InOrder(
      source.size(), ThreadsOr(line.flags.data_threads),
      [&](int64_t i) { return Check(source, i); },
      [&](int64_t i, Checked checked) {
        progress.Done(i + 1);
        if (checked.mistake.empty() && labels == 0) labels = checked.labels;
        if (checked.mistake.empty() && checked.labels != labels) {
          checked.mistake = "it has " + std::to_string(checked.labels) +
                            " labels, but the records before it have " + std::to_string(labels);
        }
        if (checked.mistake.empty()) return;
        ++bad;
        if (line.flags.json) {
          entries.push_back({{"entry", source.Name(i)}, {"mistake", checked.mistake}});
        } else {
          std::cout << Printable(source.Name(i)) << ": " << checked.mistake << std::endl;
        }
      });
  if (line.flags.json) {
    std::cout << JsonText({{"kind", data.kind},
                           {"records", source.size()},
                           {"damaged", bad},
                           {"entries", entries}})
              << '\n';
  } else {
    std::cout << Thousands(source.size()) << " images, "
              << (bad == 0 ? "none damaged" : Thousands(bad) + " damaged") << '\n';
  }
  return bad == 0 ? ExitCode::kDone : ExitCode::kFile;
}

}  // namespace doppio
