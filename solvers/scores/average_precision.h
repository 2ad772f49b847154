// Average precision of detections over a whole test, for each class, and the mean over all classes.
// Computed like SSD's solver from the rows of DetectionEvaluate or EvalDetection. Sources: M.
// Everingham et al., "The PASCAL Visual Object Classes Challenge", 2010, section 4.2 (11point), and
// the edition of 2012 (MaxIntegral).
#ifndef DOPPIO_SOLVERS_SCORES_AVERAGE_PRECISION_H_
#define DOPPIO_SOLVERS_SCORES_AVERAGE_PRECISION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"
#include "solvers/scores/outputs.h"

namespace doppio {

// The rules by which AveragePrecision summarises a precision-recall curve.
enum class PrecisionRule { kElevenPoint, kMaxIntegral, kIntegral };

// Returns the rule that ap_version names if eval_type is "detection", and nullopt if eval_type is
// "classification". Throws UserError for an unknown name.
std::optional<PrecisionRule> ReadPrecisionRule(const SolverParameter& solver,
                                               const FieldPlaces& places);

// An output of a test net: rows of DetectionEvaluate, or one row of EvalDetection for each image.
struct DetectionBlob {
  std::string name;
  int64_t row = 5;      // numbers in a row
  int64_t classes = 0;  // each row begins with so many counts (LayerType::ScoresDetections)
};

// Returns true if all outputs of a net are tops of DetectionEvaluate or EvalDetection.
bool ScoresDetections(const Graph& graph);

// Returns the outputs of a test net. Throws UserError at `at` if an output is neither a top of
// EvalDetection nor has the shape of the rows of DetectionEvaluate.
std::vector<DetectionBlob> DetectionOutputs(const Net& net, const SourceLoc& at);

// Returns the average precision of one class. `found` states for each detection, in descending
// order of score, if it is right. `objects` is the number of objects of the class; without objects,
// the result is 0.
//
// - kElevenPoint: the mean over the recalls 0, 0.1, ..., 1 of the largest precision at that
//   recall or above.
// - kMaxIntegral: the area under the largest precision at each recall or above.
// - kIntegral: the area under the precision at each recall.
double AveragePrecision(PrecisionRule rule, const std::vector<bool>& found, int64_t objects);

// Collects the detections of one test.
class DetectionScores {
 public:
  // `blobs` are the test net's outputs.
  explicit DetectionScores(std::vector<DetectionBlob> blobs) : blobs_(std::move(blobs)) {}

  // Adds the outputs of batch `batch`.
  void Add(int64_t batch, const std::vector<OutputValue>& outputs);
  // Gives every rank the rows of all ranks. Collective.
  void Gather(Communicator* ranks);

  // Scores of one output blob.
  struct OfBlob {
    std::string blob;
    std::map<int, double> classes;  // average precision by class
    // Mean over all classes. A class without objects counts as 0, as in SSD.
    double mean = 0;
    int without_objects = 0;  // number of such classes
  };
  // Returns the scores of each blob.
  std::vector<OfBlob> Compute(PrecisionRule rule) const;

  // Returns the mean of each blob as a score of the test. Logs a line for each class if
  // `each_class` is true, and a warning if some classes have no objects.
  std::vector<OutputValue> Log(PrecisionRule rule, bool each_class) const;

 private:
  // Where numbers come from: the index of their blob, the batch, and the index among its outputs.
  struct Place {
    double blob, batch;
    int64_t output;
  };
  // Adds a row of DetectionEvaluate.
  void AddEvaluated(const Place& at, const std::vector<OutputValue>& outputs);
  // Adds a row of EvalDetection.
  void AddRegions(const Place& at, const DetectionBlob& blob,
                  const std::vector<OutputValue>& outputs);
  void AddObjects(const Place& at, double label, double objects);
  // Skips a detection that is neither right nor wrong.
  void AddDetection(const Place& at, double label, double score, double right, double wrong);

  // The number of objects of a class, or one detection, with its position in the test.
  struct Row {
    double blob, label, score, right, objects, batch, place;
  };

  const std::vector<DetectionBlob> blobs_;
  std::vector<Row> rows_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_AVERAGE_PRECISION_H_
