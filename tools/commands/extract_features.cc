// `extract_features`: writes blobs of a net to databases, batch by batch. Takes Caffe's arguments.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "core/base/log.h"
#include "core/base/text/whole_number.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/graph/find_blob.h"
#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"
#include "data/source/database_writer.h"
#include "proto/data.pb.h"
#include "solvers/trainer/schedule.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/removed_on_signals.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/data/count_progress.h"
#include "tools/data/databases.h"
#include "tools/nets/devices.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"

namespace doppio {
namespace {

struct Arguments {
  std::string weights, net;
  std::vector<std::string> blobs, databases;
  int64_t batches = 0;  // 0: one pass over the source
  std::string backend;
  DeviceOptions devices;
};

int64_t BatchesOf(const std::string& text) {
  constexpr int64_t kMost = 999'999'999;
  const int64_t number = text == "all" ? 0 : ParseWholeNumber(text).value_or(-1);
  if (number >= 0 && number <= kMost) return number;
  throw UsageError("the number of batches must be at least 1, got '" + text +
                   "'; 0 or all makes one pass over the data");
}

Arguments ArgumentsOf(const CommandLine& line) {
  const std::vector<std::string>& words = line.files;
  Arguments arguments;
  arguments.weights = words[0];
  arguments.net = words[1];
  arguments.blobs = SplitList(words[2]);
  arguments.databases = SplitList(words[3]);
  if (arguments.blobs.empty() || arguments.blobs.size() != arguments.databases.size()) {
    throw UsageError(std::to_string(arguments.blobs.size()) + " blobs for " +
                     std::to_string(arguments.databases.size()) +
                     " databases; give one database for each blob");
  }
  arguments.batches = BatchesOf(words[4]);
  arguments.backend = DatabaseBackend(words[5], "the kind of database");
  arguments.devices = line.flags;
  if (words.size() > 6) {
    if (words[6] != "CPU" && words[6] != "GPU") {
      throw UsageError("after the kind of database, only CPU or GPU may follow, got '" + words[6] +
                       "'");
    }
    if (words[6] == "GPU") arguments.devices.gpu = words.size() > 7 ? words[7] : "0";
  }
  return arguments;
}

// Returns the edge of a blob. Throws UsageError unless its first dimension is `rows`.
const Edge& FindRows(const Graph& graph, const std::string& blob, int64_t rows) {
  const Edge& edge = FindBlob(graph, blob);
  if (edge.shape.rank() == 0 || edge.shape[0] != rows) {
    throw UsageError("blob '" + blob + "' is " + edge.shape.ToString() +
                     ", which has no row for each of the " + std::to_string(rows) +
                     " samples of a batch");
  }
  return edge;
}

// Converts a row to a Datum as Caffe does: float values, up to three dimensions, no label. A row
// with more than three dimensions is flattened.
Datum MakeDatum(const Shape& shape, const float* row) {
  Datum datum;
  const bool image = shape.rank() <= 4;
  datum.set_channels(static_cast<int>(image ? shape.dim_or_1(1) : shape.count(1)));
  datum.set_height(static_cast<int>(image ? shape.dim_or_1(2) : 1));
  datum.set_width(static_cast<int>(image ? shape.dim_or_1(3) : 1));
  datum.mutable_float_data()->Add(row, row + shape.count(1));
  return datum;
}

// Returns the number of records in `batches` batches of `batch` rows; 0 batches mean each sample of
// the source once. Throws UsageError if the size of the source is not known.
int64_t CountRecords(const Net& net, int64_t batches, int64_t batch) {
  const SourceSize source = FindSource(net);
  if (batches == 0) {
    if (source.known() && source.batch == batch) return source.samples;
    throw UsageError("the size of the data is unknown or unlimited; give the number of batches");
  }
  if (source.known() && batches * batch > source.samples) {
    LOG(WARNING) << "the source has " << source.samples << " samples, so of the " << batches * batch
                 << " records, those behind them repeat; 0 or all in place of " << batches
                 << " writes each sample once";
  }
  return batches * batch;
}

void PutRows(const PlainBlob& blob, int64_t begin, int64_t end, DatabaseWriter* database) {
  const int64_t values = blob.shape.count(1);
  for (int64_t index = begin; index < end; ++index) {
    const int64_t row = index - begin;
    char key[32];
    std::snprintf(key, sizeof(key), "%010lld", static_cast<long long>(index));
    database->Put(key, MakeDatum(blob.shape, blob.data.data() + row * values).SerializeAsString());
  }
}

ExitCode RunExtract(const CommandLine& line, bool* began) {
  const Arguments arguments = ArgumentsOf(line);
  const std::unique_ptr<Device> device = OpenDevice(arguments.devices);
  const NetSource source = LoadNet(line.flags, arguments.net, TEST);
  LogWarnings(source.warnings);
  Graph graph = MakeGraph(
      MakeNetSpec(source.net, source.places, source.state,
                  MakeNetOptions(line.flags, line.flags.precision, TEST, DataMode::kOpen)));
  const int64_t batch = BatchOf(graph);
  for (const std::string& blob : arguments.blobs) FindRows(graph, blob, batch);
  std::vector<std::string> unfinished;
  for (const std::string& path : arguments.databases) {
    unfinished.push_back(DatabaseWriter::UnfinishedFolder(path));
  }
  const RemovedOnSignals removed(std::move(unfinished));
  std::vector<std::unique_ptr<DatabaseWriter>> databases;
  for (const std::string& path : arguments.databases) {
    databases.push_back(std::make_unique<DatabaseWriter>(arguments.backend, path));
  }
  ParamStore params(device.get(), DType::kFloat32, graph.spec.options.seed);
  PlanOptions options = MakePlanOptions(line.flags, device.get());
  options.keep_all = true;
  Net net(std::move(graph), options, &params);
  const int64_t records = CountRecords(net, arguments.batches, batch);
  LoadWeightFiles(arguments.weights, &net);
  *began = true;
  CountProgress progress(records, "images");
  for (int64_t begin = 0, end; begin < records; begin = end) {
    end = std::min(records, begin + batch);
    net.Forward();
    for (size_t b = 0; b < databases.size(); ++b) {
      FindRows(net.graph(), arguments.blobs[b], batch);  // Python layers may change shapes
      PutRows(ReadTensor(net.Blob(arguments.blobs[b]), device.get()), begin, end,
              databases[b].get());
    }
    progress.Done(end);
  }
  for (const auto& database : databases) database->Complete();
  for (const auto& database : databases) database->Finish();
  for (size_t b = 0; b < databases.size(); ++b) {
    std::cout << arguments.databases[b] << " written, " << Thousands(records)
              << (records == 1 ? " record" : " records") << " of blob " << arguments.blobs[b]
              << '\n';
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "extract_features",
    {"writes blobs of a net to databases, one record per sample",
     Words("gpu precision workspace_mb deterministic cuda_graph level stage batch set "
           "unset threads data_threads max_pixels seed engine"),
     {},
     "WEIGHTS NET BLOB[,BLOB] DB[,DB] BATCHES|all BACKEND [CPU|GPU [N]]",
     "doppio extract_features net.caffemodel train_val.prototxt fc7,prob fc7_db,prob_db 10 lmdb",
     &RunExtract});

}  // namespace
}  // namespace doppio
