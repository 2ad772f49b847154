// A data set: a fixed number of records, each of which can be read at any time. Shuffling, sharding
// and resuming need nothing else, so every format is opened such that any index can be read
// directly.
//
// A format is one file: it registers its opener under the name of the backend in data_param.
#ifndef DOPPIO_DATA_SOURCE_SOURCE_H_
#define DOPPIO_DATA_SOURCE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/registry.h"
#include "data/source/record.h"
#include "proto/preprocessing.pb.h"
#include "proto/state.pb.h"

namespace doppio {

class AnnotatedDataParameter;
class DataParameter;
class ImageDataParameter;
class TransformationParameter;
class WindowDataParameter;

// The size of a source whose records are drawn: no two are the same, and there is no epoch.
constexpr int64_t kEndless = int64_t{1} << 62;

// A source tells these facts of all its images; weights keep a record of them.
struct SourceFacts {
  Preprocessing::Channels channels = Preprocessing::AS_IN_DATA;
  ImageShape image;      // the first one, as the source gives it; extents of 0 are not known
  bool one_size = true;  // false: others differ from it in height or width
  std::vector<std::string> class_names;  // by label; empty where the source does not name them
};

class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;  // at least 1
  // Read() decodes images itself: it is worth several threads.
  virtual bool decodes() const { return false; }
  // Called from several threads at once. What the record points to lives as long as the source or
  // until the record is read into again. Throws FileError saying what is wrong with the record, but
  // not which one it is: callers add Name(index).
  virtual void Read(int64_t index, Record* record) const = 0;
  // Where records are changed at random: record `index` as sample `sample` of the run.
  virtual void ReadSample(int64_t index, uint64_t /*sample*/, Record* record) const {
    Read(index, record);
  }
  // For messages: "record '00000007' of 'mnist_train_lmdb'".
  virtual std::string Name(int64_t index) const = 0;
  // Returns what the format, or files beside it, say; callers use FactsOf. Throws FileError.
  virtual SourceFacts facts() const { return {}; }
};

// source.facts(), completed from the images: those that Doppio decodes are BGR, those of one
// channel GRAY. Encoded images count as of one size if the first, the middle and the last one
// agree. Throws FileError for a first record that cannot be read.
SourceFacts FactsOf(const Source& source);

// Opens what data_param names, for a net of the given phase. Throws FileError, UserError.
using SourceOpener = std::unique_ptr<Source> (*)(const DataParameter& parameter, Phase phase);
using Sources = Registry<SourceOpener>;

// By the backend's name: "LMDB", "IDX".
std::unique_ptr<Source> OpenSource(const DataParameter& parameter, Phase phase);
// The text file of "path label..." lines that layer ImageData reads.
std::unique_ptr<Source> OpenImageList(const ImageDataParameter& parameter);
// The windows that layer WindowData draws: endless, record i is sample i. It transforms them
// itself.
std::unique_ptr<Source> OpenWindows(const WindowDataParameter& parameter,
                                    const TransformationParameter& transform, const Random& random);
// The records of a database of AnnotatedDatum, changed as layer AnnotatedData asks: by
// batch_sampler, and by distort_param, expand_param, resize_param and noise_param of `transform`.
std::unique_ptr<Source> OpenAnnotated(std::unique_ptr<Source> records,
                                      const AnnotatedDataParameter& parameter,
                                      const TransformationParameter& transform,
                                      const Random& random);
// The mistakes it would find in them. Throws UserError.
void CheckAnnotated(const AnnotatedDataParameter& parameter,
                    const TransformationParameter& transform);
// What such a source leaves to the pipeline.
TransformationParameter BehindAnnotated(TransformationParameter transform);
// Such records, changed as `transform` asks: random_aspect_ratio_param, random sizes
// (data/augment/random_size.h), rotation_param, shift_param, distort_param, expand_param,
// resize_param, noise_param, cutout_param. In phase TEST images get a size of the same kind, and
// noise, nothing else. `records` itself where there is nothing to do. Throws UserError.
std::unique_ptr<Source> OpenAugmented(std::unique_ptr<Source> records,
                                      const TransformationParameter& transform, Phase phase,
                                      const Random& random);
void CheckAugmented(const TransformationParameter& transform);  // its mistakes
// What such a source leaves to the pipeline.
TransformationParameter BehindAugmented(TransformationParameter transform);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_SOURCE_H_
