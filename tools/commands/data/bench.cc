// `data bench`: measures how fast one core reads, decodes and transforms the images of a net, step
// by step, and how fast all threads do so together.
#include <time.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/net/spec/prototxt.h"
#include "data/augment/augmented_source.h"
#include "data/pipeline/pipeline.h"
#include "proto/data.pb.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/data_opened.h"
#include "tools/data/in_order.h"

namespace doppio {
namespace {

// The steps after reading work on this many records repeatedly.
constexpr size_t kTimedRecords = 64;

struct Step {
  std::string name, does;
  double images_per_second = 0;  // per second of one core's CPU time
};

double CoreSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns how often per second of `clock` `work(i)` can be called, with i = 0, 1, ... The first
// call is not counted.
double Rate(double seconds, const std::function<double()>& clock,
            const std::function<void(int64_t)>& work) {
  work(0);
  const double begin = clock();
  int64_t done = 0;
  do {
    work(++done);
  } while (clock() - begin < seconds);
  return static_cast<double>(done) / (clock() - begin);
}

DecodeOptions DecodeAs(const ImageFileOptions& options, const Augment& augment,
                       const Record& record) {
  DecodeOptions decode = record.decode;
  if (augment.color() != DecodeOptions::Color::kAsStored) decode.color = augment.color();
  if (options.resize_height > 0) {
    decode.height = options.resize_height;
    decode.width = options.resize_width;
  }
  return decode;
}

// A source whose encoded images are resized to --resize_height and --resize_width.
class Resized : public Source {
 public:
  Resized(const ImageFileOptions& options, const Source& source)
      : options_(options), source_(source) {}
  int64_t size() const override { return source_.size(); }
  bool decodes() const override { return source_.decodes(); }
  void Read(int64_t index, Record* record) const override {
    source_.Read(index, record);
    if (options_.resize_height == 0) return;
    record->decode.height = options_.resize_height;
    record->decode.width = options_.resize_width;
  }
  std::string Name(int64_t index) const override { return source_.Name(index); }

 private:
  const ImageFileOptions& options_;
  const Source& source_;
};

// A source of records in memory.
class Held : public Source {
 public:
  explicit Held(const std::vector<Record>& records) : records_(records) {}
  int64_t size() const override { return static_cast<int64_t>(records_.size()); }
  void Read(int64_t index, Record* record) const override {
    const Record& held = records_[index];
    record->pixels = held.pixels;
    record->encoded = held.encoded;
    record->encoded_bytes = held.encoded_bytes;
    record->decode = held.decode;
  }
  std::string Name(int64_t index) const override { return "record " + std::to_string(index); }

 private:
  const std::vector<Record>& records_;
};

Random Changes() { return Random(1, Stream("data bench", "changes")); }

std::vector<Step> MeasureSteps(const CommandLine& line, const Source& source,
                               const TransformationParameter& transform, const Augment& augment) {
  std::vector<Step> steps;
  const int64_t size = source.size();
  Record any;
  steps.push_back(
      {"read", "records from the disk, or its cache",
       Rate(line.flags.seconds, CoreSeconds, [&](int64_t i) { source.Read(i % size, &any); })});
  std::vector<Record> records(std::min(kTimedRecords, static_cast<size_t>(size)));
  std::vector<Image> images(records.size());
  std::vector<Pixels> pixels(records.size());
  std::vector<CutPixels> cuts(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    source.Read(static_cast<int64_t>(i), &records[i]);
    records[i].decode = DecodeAs(line.flags, augment, records[i]);
  }
  const auto at = [&records](int64_t i) { return static_cast<size_t>(i) % records.size(); };
  const auto decode = [&](size_t i) {
    const Record& r = records[i];
    if (r.encoded == nullptr) {
      pixels[i] = r.pixels;
      return;
    }
    Decode(r.encoded, r.encoded_bytes, r.decode, &images[i]);
    pixels[i] = images[i].pixels();
  };
  for (size_t i = 0; i < records.size(); ++i) decode(i);
  if (records[0].encoded != nullptr) {
    steps.push_back({"decode", "JPEG and PNG files, whole, resized if asked for",
                     Rate(line.flags.seconds, CoreSeconds, [&](int64_t i) { decode(at(i)); })});
  }
  auto held = std::make_unique<Held>(records);
  const Source* plain = held.get();
  const std::unique_ptr<Source> changed =
      OpenAugmented(std::move(held), transform, TRAIN, Changes());
  if (changed.get() != plain) {
    steps.push_back({"change", "decode, and random changes",
                     Rate(line.flags.seconds, CoreSeconds, [&](int64_t i) {
                       changed->ReadSample(static_cast<int64_t>(at(i)), static_cast<uint64_t>(i),
                                           &any);
                     })});
  }
  const auto cut = [&](int64_t i) {
    augment.Apply(pixels[at(i)], static_cast<uint64_t>(i), &cuts[at(i)]);
  };
  for (size_t i = 0; i < records.size(); ++i) cut(static_cast<int64_t>(i));
  steps.push_back({"augment", "crop, planes", Rate(line.flags.seconds, CoreSeconds, cut)});
  const ImageShape shape = augment.OutputShape(pixels[0].shape);
  std::vector<float> batch(shape.count());
  steps.push_back({"assemble", "mirror, mean, scale, into the batch",
                   Rate(line.flags.seconds, CoreSeconds, [&](int64_t i) {
                     if (augment.OutputShape(pixels[at(i)].shape) == shape) {
                       augment.Finish(cuts[at(i)], shape, batch.data());
                     }
                   })});
  return steps;
}

// Returns the images per second of the complete pipeline as a data layer uses it. Unlike the single
// steps, the pipeline may decode only the cropped part of an image.
double MeasureAll(const CommandLine& line, const Source& source,
                  const TransformationParameter& transform, int threads) {
  PipelineOptions options;
  options.batch = line.flags.batch > 0 ? static_cast<int>(line.flags.batch) : 32;
  options.threads = threads;
  options.seed = 1;
  Pipeline pipeline(
      OpenAugmented(std::make_unique<Resized>(line.flags, source), transform, TRAIN, Changes()),
      WithoutAugmentedTransforms(transform), TRAIN, options);
  std::vector<float> to(options.batch * pipeline.reader().data_shape().count());
  const auto next = [&](int64_t) { pipeline.Write(pipeline.Next(), 0, options.batch, to.data()); };
  for (int i = 0; i <= options.prefetch; ++i) next(i);  // skips prefetched batches
  return options.batch * Rate(line.flags.seconds, MonotonicSeconds, next);
}

TransformationParameter TransformOf(const std::string& text) {
  TransformationParameter transform;
  ParseText(text, "--transform", &transform);
  return transform;
}

}  // namespace

ExitCode DataBench(const CommandLine& line, bool* began) {
  if (!(line.flags.seconds > 0)) {
    throw UsageError("--seconds needs a number greater than 0; got " +
                     Significant(line.flags.seconds));
  }
  if ((line.flags.resize_height > 0) != (line.flags.resize_width > 0)) {
    throw UsageError("give both --resize_height and --resize_width, or neither");
  }
  const TransformationParameter transform = TransformOf(line.flags.transform);
  const OpenedData data = OpenData(line, line.files[0]);
  *began = true;
  const Augment augment(WithoutAugmentedTransforms(transform), TRAIN,
                        Random(1, Stream("data bench")));
  const std::vector<Step> steps = MeasureSteps(line, *data.source, transform, augment);
  const int threads = ThreadsOr(line.flags.data_threads);
  const double all = MeasureAll(line, *data.source, transform, threads);
  if (line.flags.json) {
    nlohmann::json out = {{"kind", data.kind},
                          {"images", data.source->size()},
                          {"threads", threads},
                          {"images_per_second", all},
                          {"steps", nlohmann::json::array()}};
    for (const Step& step : steps) {
      out["steps"].push_back({{"step", step.name}, {"images_per_second", step.images_per_second}});
    }
    std::cout << JsonText(out) << '\n';
    return ExitCode::kDone;
  }
  TextTable table({"step", ">images/s of a core", "what"});
  for (const Step& step : steps) {
    table.Add({step.name, Thousands(static_cast<int64_t>(step.images_per_second)), step.does});
  }
  table.Print(std::cout);
  std::cout << "all together, " << threads << (threads == 1 ? " thread: " : " threads: ")
            << Thousands(static_cast<int64_t>(all)) << " images/s\n";
  return ExitCode::kDone;
}

}  // namespace doppio
