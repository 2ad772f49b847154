// Feeds a net: threads read, decode and transform samples ahead of the net, and Next() returns the
// batches in order. The batches depend only on the source and on (seed, stream, sample), not on the
// number of threads or ranks or on where the run started: batch b of rank r holds `batch` samples
// of SampleOrder's endless stream, from sample (b * world + r) * batch on.
//
// A pipeline is used by one thread, except where noted. It has its own threads, outside the compute
// pool, which start with the first Next().
#ifndef DOPPIO_DATA_PIPELINE_PIPELINE_H_
#define DOPPIO_DATA_PIPELINE_PIPELINE_H_

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/augment/augment.h"
#include "data/decode/decode.h"
#include "data/decode/jpeg_cut.h"
#include "data/pipeline/bad_records.h"
#include "data/pipeline/order.h"
#include "data/source/source.h"

namespace doppio {

struct PipelineOptions {
  int batch = 1;
  bool shuffle = false;
  uint64_t seed = 0;
  uint64_t stream = 0;  // Stream("data", layer name), so that two layers of a net draw differently
  uint32_t rand_skip = 0;  // maximum number of samples to leave out at the start
  int threads = 0;         // 0: ChooseThreads for the rank's cores
  int prefetch = 4;        // number of whole batches prepared in advance
  // If positive, the labels of a sample are its objects: max_boxes rows of kBoxLabels numbers.
  int max_boxes = 0;
  bool sizes_vary = false;  // see Augment
  SourceLoc mean_at;        // see Augment
  // If positive, boxes are in fractions of this many rows and columns (SSD's height_scale and
  // width_scale) instead of the sample's.
  int box_rows = 0, box_columns = 0;
  // Maximum number of different records that may be left out because they cannot be read, decoded
  // or batched. The next good record replaces each.
  int64_t bad_records = 0;
  int rank = 0;
  int world = 1;
};

// Numbers per object: 0, class, instance, xmin, ymin, xmax, ymax, difficult (0 or 1). Unused rows
// are filled with -1.
constexpr int kBoxLabels = 8;

struct Batch {
  // Global index of the first sample in the stream.
  int64_t first_sample = 0;
  std::vector<CutPixels> samples;  // input of Pipeline::Write
  std::vector<float> labels;       // batch x label_count()
};

// Returns the number of threads that prepare samples for a rank with `cores` cores: half of the
// cores for records that must be decoded, fewer for raw records.
int ChooseThreads(int cores, bool encoded);

class Pipeline {
 public:
  // Reads and checks the first record that is not bad. Throws FileError, UserError.
  Pipeline(std::unique_ptr<Source> source, const TransformationParameter& transform, Phase phase,
           const PipelineOptions& options);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Returns the shape of one transformed sample.
  ImageShape data_shape() const { return data_shape_; }
  // Returns the number of labels per sample.
  int label_count() const { return label_count_; }
  // Returns the number of records in an epoch; 0 if the source is endless.
  int64_t size() const { return source_->size() == kEndless ? 0 : source_->size(); }
  // Returns the number of threads.
  int threads() const { return options_.threads; }
  const Source& source() const { return *source_; }
  // Returns the number of different records left out so far.
  int64_t bad_records() const { return bad_.count(); }

  // Returns the next batch; blocks until it is complete. The batch is valid until the next call of
  // Next, Seek or Shard. If the batch contains a bad record, throws its error with the record's
  // name, as does every later call.
  const Batch& Next();
  // Writes the samples [begin, end) of a batch: sample i goes to `to` + i * data_shape().count().
  // Several threads may write parts of a batch at once. T is float or double.
  template <class T>
  void Write(const Batch& batch, int64_t begin, int64_t end, T* to) const {
    for (int64_t i = begin; i < end; ++i) {
      augment_.Finish(batch.samples[i], data_shape_, to + i * data_shape_.count());
    }
  }

  // For callers that write samples of bytes themselves, e.g. the GPU upload path.
  const Augment& augment() const { return augment_; }

  // Returns the global index of the first sample of the batch that Next() will return.
  int64_t next_sample() const { return SampleOf(next_batch_); }
  // Returns the first sample of rank 0's next batch, the same number on every rank.
  int64_t position() const { return next_sample() - int64_t{options_.rank} * options_.batch; }
  // Continues at `sample`, a value of position().
  void Seek(int64_t sample);

  // Changes the rank and the number of ranks from the next batch on. Cheap if they stay the same.
  void Shard(int rank, int world);

  // Returns the total time that Next() has waited for data, in seconds.
  double wait_seconds() const { return wait_seconds_; }

 private:
  struct Slot {
    Batch batch;
    int chunks_left = 0;
    int64_t failed_chunk = 0;  // first failed chunk of the batch
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

  int64_t start_ = 0;       // first sample of rank 0's batch 0
  int64_t next_batch_ = 0;  // index of this rank's next batch, counted from start_
  bool handed_out_ = false;
  double wait_seconds_ = 0;

  // Several threads fill a batch together, one chunk at a time.
  int chunk_samples_ = 1;
  int chunks_ = 1;  // per batch
  std::vector<Slot> slots_;
  std::vector<std::thread> workers_;

  std::mutex mutex_;
  std::condition_variable slot_freed_, batch_ready_;
  // mutex_ guards the members below, and the chunk counts and failures of the slots.
  int64_t next_chunk_ = 0;
  int64_t released_ = 0;  // number of batches that the caller has released
  bool stop_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_PIPELINE_H_
