// Feeds a net: threads read, decode and transform ahead of it, and batches come out in order.
// What comes out depends on the source and on (seed, stream, sample) only, never on the number of
// threads, of ranks, or on where the run was started: batch b of rank r holds the samples
// [(b * world + r) * batch, + batch) of the one endless stream of SampleOrder.
//
// Used by one thread. The threads are the pipeline's own (not the compute pool's) and start with
// the first Next().
#ifndef DOPPIO_DATA_PIPELINE_PIPELINE_H_
#define DOPPIO_DATA_PIPELINE_PIPELINE_H_

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/augment/augment.h"
#include "data/pipeline/bad_records.h"
#include "data/decode/decode.h"
#include "data/decode/jpeg_cut.h"
#include "data/pipeline/order.h"
#include "data/source/source.h"

namespace doppio {

struct PipelineOptions {
  int batch = 1;
  bool shuffle = false;
  uint64_t seed = 0;
  uint64_t stream = 0;     // Stream("data", layer name): two layers of a net do not draw the same
  uint32_t rand_skip = 0;  // leave out up to this many samples at the start
  int threads = 0;         // 0: chosen by what the records cost
  int prefetch = 4;        // whole batches ready before they are asked for
  // More than 0: the labels of a sample are its objects, for each kBoxLabels numbers, and room for
  // so many.
  int max_boxes = 0;
  bool sizes_vary = false;  // as Augment has it
  SourceLoc mean_at;        // likewise
  // More than 0: boxes are in fractions of so many rows and columns (SSD's height_scale and
  // width_scale) instead of the sample's.
  int box_rows = 0, box_columns = 0;
  // So many different records may be left out because they cannot be read, decoded or batched. The
  // next record that can takes the place of each.
  int64_t bad_records = 0;
  int rank = 0;
  int world = 1;
};

// Of an object: 0, class, instance, xmin, ymin, xmax, ymax, difficult (0 or 1). All are -1 where
// there is none.
constexpr int kBoxLabels = 8;

struct Batch {
  int64_t first_sample = 0;        // its global index in the stream
  std::vector<CutPixels> samples;  // for Write
  std::vector<float> labels;       // batch x label_count()
};

class Pipeline {
 public:
  // Reads and checks the first record. Throws FileError, UserError.
  Pipeline(std::unique_ptr<Source> source, const TransformationParameter& transform, Phase phase,
           const PipelineOptions& options);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  ImageShape data_shape() const { return data_shape_; }  // of one sample, transformed
  int label_count() const { return label_count_; }
  // Records, of which an epoch has each once; 0 when they are drawn without end.
  int64_t size() const { return source_->size() == kEndless ? 0 : source_->size(); }
  int threads() const { return options_.threads; }
  const Source& source() const { return *source_; }
  int64_t bad_records() const { return bad_.count(); }  // left out so far

  // The next batch, valid until the next call of Next or Seek. Rethrows the failure of a bad record
  // when its batch is asked for, with the record's name; so does every call after it.
  const Batch& Next();
  // The samples [begin, end) of a batch, data_shape().count() numbers each. Any thread may take a
  // part. T: float, double.
  template <class T>
  void Write(const Batch& batch, int64_t begin, int64_t end, T* to) const {
    for (int64_t i = begin; i < end; ++i) {
      augment_.Finish(batch.samples[static_cast<size_t>(i)], data_shape_,
                      to + i * data_shape_.count());
    }
  }

  // For who writes samples of bytes himself.
  const Augment& augment() const { return augment_; }

  // Global index of the first sample of the batch that Next() will return.
  int64_t next_sample() const { return SampleOf(next_batch_); }
  // The sample that the next batch of rank 0 starts with: the same number on every rank.
  int64_t position() const { return next_sample() - int64_t{options_.rank} * options_.batch; }
  // Goes on from such a position.
  void Seek(int64_t sample);

  // Which share of the stream this pipeline takes from here on; cheap when it does not change.
  void Shard(int rank, int world);

  double wait_seconds() const { return wait_seconds_; }  // that Next() spent waiting for data

 private:
  struct Slot {
    Batch batch;
    int chunks_left = 0;
    int64_t failed_chunk = 0;  // the first of the batch that failed
    std::exception_ptr failure;
  };
  struct Scratch {
    Record record;
    Image image;
    JpegCutScratch jpeg;
  };

  int64_t SampleOf(int64_t batch) const {
    return start_ + (batch * options_.world + options_.rank) * options_.batch;
  }
  void Start();
  void Stop();
  void Work();
  void FillChunk(int64_t chunk, Scratch* scratch);
  template <class F>
  void WithGoodRecord(int64_t index, const F& use);
  void FillSample(int64_t sample, int row, Batch* batch, Scratch* scratch);
  void FillFrom(int64_t index, int64_t sample, int row, Batch* batch, Scratch* scratch) const;
  bool FillFromJpeg(int64_t sample, Scratch* scratch, CutPixels* to) const;
  DecodeOptions DecodeOf(const Record& record) const;
  Pixels PixelsOf(Scratch* scratch) const;
  void CheckShape(const ImageShape& image) const;
  void LabelObjects(const ImageShape& image, uint64_t sample, Record* record) const;

  const std::unique_ptr<Source> source_;
  const Augment augment_;
  PipelineOptions options_;
  SampleOrder order_;
  BadRecords bad_;
  ImageShape data_shape_;
  int label_count_ = 0;

  int64_t start_ = 0;       // sample that batch 0 of rank 0 starts with
  int64_t next_batch_ = 0;  // of this rank since start_
  bool handed_out_ = false;
  double wait_seconds_ = 0;

  // A batch is filled in chunks, so that several threads share one.
  int chunk_samples_ = 1;
  int chunks_ = 1;  // per batch
  std::vector<Slot> slots_;
  std::vector<std::thread> workers_;

  std::mutex mutex_;
  std::condition_variable slot_freed_, batch_ready_;
  int64_t next_chunk_ = 0;  // guarded, as all below and the slots' counts and failures
  int64_t released_ = 0;    // batches whose slots are free again
  bool stop_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_PIPELINE_H_
