// Reads, decodes and changes single samples of a source for a pipeline.
#ifndef DOPPIO_DATA_PIPELINE_SAMPLE_READER_H_
#define DOPPIO_DATA_PIPELINE_SAMPLE_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/sample_set.h"
#include "data/augment/augment.h"
#include "data/decode/decode.h"
#include "data/pipeline/bad_records.h"
#include "data/pipeline/jpeg_cut.h"
#include "data/pipeline/pipeline_options.h"
#include "data/pipeline/remarks.h"
#include "data/record/source.h"

namespace doppio {

// Several threads may read at once, each with its own Scratch.
class SampleReader {
 public:
  struct Scratch {
    Record record;
    Image image;
    JpegCutScratch jpeg;
  };

  // Reads and checks the first record that is not bad. Throws FileError, UserError.
  SampleReader(std::unique_ptr<Source> source, const TransformationParameter& transform,
               Phase phase, const PipelineOptions& options);

  const Source& source() const { return *source_; }
  const Augment& augment() const { return augment_; }
  // Returns the shape of the first sample.
  const ImageShape& data_shape() const { return data_shape_; }
  // Returns the shape of the first image before the crop.
  const ImageShape& image_shape() const { return image_shape_; }
  int label_count() const { return label_count_; }
  bool decodes() const { return decodes_; }
  int64_t bad_records() const { return bad_.count(); }

  // Makes the changes that move pixels follow `rule`. Must not be called while a thread reads.
  void Join(const GroupRule& rule);

  // Reads record `index` as sample `sample` of the run, and writes its label_count() labels to
  // `labels`. Returns the shape of the sample. Throws an error with the record's name.
  ImageShape Read(int64_t index, int64_t sample, Scratch* scratch, CutPixels* to,
                  float* labels) const;
  // The same, but reads the next good record instead of a bad one that may be left out. The record
  // does not depend on threads or ranks, or on the records left out before.
  ImageShape ReadGood(int64_t index, int64_t sample, Scratch* scratch, CutPixels* to,
                      float* labels);
  // Returns false, and counts the record, if record `index` is bad and may be left out. Throws the
  // error of a bad record that must not be left out.
  bool Usable(int64_t index);
  // Reads the labels of all records. Throws an error with the name of a record whose labels are no
  // class.
  ClassLists RecordsByClass();

 private:
  template <class F>
  auto WithGoodRecord(int64_t index, const F& use);
  ImageShape Load(int64_t index, Scratch* scratch) const;
  ImageShape ReadFrom(int64_t index, int64_t sample, Scratch* scratch, CutPixels* to,
                      float* labels) const;
  std::optional<ImageShape> ReadFromJpeg(int64_t sample, Scratch* scratch, CutPixels* to) const;
  DecodeOptions DecodeOf(const Record& record) const;
  Pixels PixelsOf(Scratch* scratch) const;
  ImageShape CheckShape(const ImageShape& image) const;
  void CheckLabels(const Record& record) const;

  const std::unique_ptr<Source> source_;
  Augment augment_;
  const PipelineOptions options_;
  BadRecords bad_;
  mutable Remarks remarks_;
  ImageShape image_shape_, data_shape_;
  int label_count_ = 0;
  bool decodes_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_SAMPLE_READER_H_
