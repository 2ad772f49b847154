// Feeds a net: threads read, decode and transform samples ahead of the net, and Next() returns the
// batches in order. The batches depend only on the source and on (seed, stream, sample), not on the
// number of threads or ranks or on where the run started: the samples of a batch are those of
// SampleOrder's endless stream from next_sample() of a ShardCursor on.
//
// A pipeline is used by one thread, except where noted. It has its own threads, outside the compute
// pool, which start with the first Next().
#ifndef DOPPIO_DATA_PIPELINE_PIPELINE_H_
#define DOPPIO_DATA_PIPELINE_PIPELINE_H_

#include <memory>
#include <string>

#include "data/pipeline/batch_threads.h"
#include "data/pipeline/order.h"
#include "data/pipeline/sample_reader.h"
#include "data/pipeline/shard_cursor.h"

namespace doppio {

class Pipeline {
 public:
  // Reads and checks the first record that is not bad. Throws FileError, UserError.
  Pipeline(std::unique_ptr<Source> source, const TransformationParameter& transform, Phase phase,
           const PipelineOptions& options);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Returns the shape of the samples of the batch that Next returned last; before, that of the
  // first sample.
  ImageShape shape() const { return has_current() ? current().shape : reader_->data_shape(); }
  // Returns the reader of single samples, with the source and the changes of transform_param.
  const SampleReader& reader() const { return *reader_; }
  // Returns the number of threads.
  int threads() const { return options_.threads; }
  // Returns the name of the record of a sample.
  std::string NameOf(int64_t sample) const {
    return reader_->source().Name(order_.UsableRecord(sample));
  }

  // Describes the samples, without the changes of transform_param.
  SampleSet samples() const;
  // Makes the source follow the rule of its group, with the same position. Later calls have no
  // effect.
  void Join(const GroupRule& rule);
  // Returns a function that finds bad records, or null if none may be left out.
  RecordProbe Probe() const;

  // Returns the next batch; blocks until it is complete. The batch is valid until the next call of
  // Next, Seek or Shard. If the batch contains a bad record, throws its error with the record's
  // name, as does every later call.
  const Batch& Next();
  // Returns the batch that Next returned last, which must be valid.
  const Batch& current() const;
  // Writes the samples [begin, end) of a batch: sample i goes to `to` + i * batch.shape.count().
  // Several threads may write parts of a batch at once. T is float or double.
  template <class T>
  void Write(const Batch& batch, int64_t begin, int64_t end, T* to) const {
    for (int64_t i = begin; i < end; ++i) {
      reader_->augment().Finish(batch.samples[i], batch.shape, to + i * batch.shape.count());
    }
  }

  // Returns the position of the batch that Next() will return.
  const ShardCursor& cursor() const { return cursor_; }
  // Continues at `sample`, a cursor's position(). Has no effect if that is the position already.
  void Seek(int64_t sample);

  // Changes the rank and the number of ranks from the next batch on. Cheap if they stay the same.
  void Shard(int rank, int world);

  // Returns the total time that Next() has waited for data, in seconds.
  double wait_seconds() const { return wait_seconds_; }

 private:
  bool has_current() const { return threads_ != nullptr && threads_->has_current(); }
  void Start();

  // Shared with Probe().
  const std::shared_ptr<SampleReader> reader_;
  PipelineOptions options_;
  const std::shared_ptr<const ClassLists> classes_;  // null without PipelineOptions::balance
  SampleOrder order_;
  bool joined_ = false;

  ShardCursor cursor_;
  double wait_seconds_ = 0;
  std::unique_ptr<BatchThreads> threads_;  // null until Next; they read other members
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_PIPELINE_H_
