// What a net predicted for each sample of a test, collected batch by batch. A sample has the same
// row in the result for any size of the batches and any number of ranks.
#ifndef DOPPIO_SOLVERS_SCORES_PREDICTIONS_H_
#define DOPPIO_SOLVERS_SCORES_PREDICTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "solvers/scores/score_head.h"

namespace doppio {

// The largest number of values (samples times classes) that a test keeps for its curves.
constexpr int64_t kMostKeptValues = 10'000'000;
// The most images, of the greatest confidence among the wrong ones, that a test keeps.
constexpr size_t kMostThumbnails = 24;

// One label and its prediction.
struct Prediction {
  int64_t position = 0;  // among the labels of the test, in the order of its samples
  int32_t label = 0;
  int32_t predicted = 0;
  // The number of classes whose score is at least that of the label's class, itself included. A
  // tie counts against the net, as in Accuracy: the prediction is right if this is 1.
  int32_t place = 1;
  float confidence = 0;  // the probability of the predicted class

  bool right() const { return place == 1; }
};

// The image of a sample as the net got it, without mean and scale, made smaller.
struct Thumbnail {
  static constexpr int kSide = 96;  // the longest side in pixels
  int64_t position = 0;
  float confidence = 0;
  int32_t channels = 0, height = 0, width = 0;
  uint8_t bytes[3 * kSide * kSide] = {};  // rows of gray, or of blue, green, red
};

// A wrong prediction: an index in Predictions::rows and the name of its sample.
struct WrongPrediction {
  size_t row = 0;
  int64_t sample = 0;  // index in the source
  std::string name;    // "" if the source has no names
};

struct Predictions {
  ScoreHead head;
  std::string scores_blob, labels_blob;
  int64_t classes = 0;
  std::vector<std::string> class_names;  // by label; empty if they are unknown
  int64_t ignored = 0;                   // labels that do not count

  // kClassifier: by position. Other heads leave label and prediction at 0.
  std::vector<Prediction> rows;
  // kClassifier: the probabilities of each row's classes. kRegression: the predictions of each row,
  // then its targets. Empty if there are more than kMostKeptValues.
  std::vector<float> values;
  int64_t width = 0;  // values per row
  // kSegmentation: pixels by label and predicted class, row-major.
  std::vector<int64_t> pixels;

  // kClassifier: the wrong predictions, those of the greatest confidence first; at most as many as
  // the test names. `wrong_rows` counts all.
  std::vector<WrongPrediction> wrong;
  int64_t wrong_rows = 0;
  std::vector<Thumbnail> thumbnails;  // in the same order
};

// Collects the predictions of one test. Not thread-safe.
class PredictionCollector {
 public:
  // For a test of `batches` batches, whose full batches run in `net`, from the current position of
  // its source. Names at most `most_named` wrong samples.
  PredictionCollector(const Net& net, const ScoreHead& head, int64_t batches, int64_t most_named);

  // Adds the last forward pass of `net`, batch `batch` of the test.
  void Add(const Net& net, int64_t batch);
  // Returns the predictions of all ranks. `net` is the net of the constructor. A null `ranks` means
  // a single rank. Collective.
  std::shared_ptr<const Predictions> Finish(const Net& net, Communicator* ranks,
                                            const std::vector<std::string>& class_names);

 private:
  void AddClasses(const std::vector<float>& scores, const std::vector<float>& labels,
                  int64_t first);
  void AddPixels(const Shape& shape, const std::vector<float>& scores,
                 const std::vector<float>& labels);
  void AddNumbers(const Shape& shape, const std::vector<float>& scores,
                  const std::vector<float>& labels, int64_t first);
  // Keeps images of wrong predictions among the rows from `first_row` on.
  void AddImages(const Net& net, int64_t batch, size_t first_row);
  void Gather(Communicator* ranks);
  void SortRows();
  void NameWrong(const Net& net);

  const int64_t most_named_;
  int64_t batch_positions_ = 0;  // labels of a full batch
  int64_t batch_rows_ = 0;       // samples of a full batch
  int64_t first_sample_ = 0;     // position of the source before the test
  bool keeps_values_ = false;
  std::shared_ptr<Predictions> result_ = std::make_shared<Predictions>();
};

// Returns the predictions of a net that can be collected: its plan shows the edges of its head.
std::optional<ScoreHead> CollectedHead(const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_PREDICTIONS_H_
