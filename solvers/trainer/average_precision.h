// How good detections are over a whole test: for each class the average precision, and the mean of
// these, as SSD's solver computes them from the rows of DetectionEvaluate. Sources: M. Everingham
// et al., "The PASCAL Visual Object Classes Challenge", 2010, section 4.2 (11point), and that of
// 2012 (MaxIntegral).
#ifndef DOPPIO_SOLVERS_TRAINER_AVERAGE_PRECISION_H_
#define DOPPIO_SOLVERS_TRAINER_AVERAGE_PRECISION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/net/run/communicator.h"
#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"
#include "solvers/trainer/outputs.h"

namespace doppio {

enum class PrecisionRule { kElevenPoint, kMaxIntegral, kIntegral };

// As ap_version says, where eval_type is "detection". Throws UserError for names that it does not
// know.
std::optional<PrecisionRule> ReadPrecisionRule(const SolverParameter& solver,
                                               const FieldPlaces& places);

// The names of the outputs of a net to test. Throws UserError at `at` unless all are rows of
// DetectionEvaluate.
std::vector<std::string> DetectionOutputs(const Net& net, const SourceLoc& at);

// `found`: whether each detection is right, the highest score first; of `objects` objects. 0
// without any.
//   kElevenPoint  the mean over recalls 0, 0.1, ..., 1 of the largest precision at that recall or
//   above kMaxIntegral  the area under the largest precision at each recall or above kIntegral the
//   area under the precision at each recall
double AveragePrecision(PrecisionRule rule, const std::vector<bool>& found, int64_t objects);

// What a test has found so far.
class DetectionScores {
 public:
  // Of a test whose outputs have these names.
  explicit DetectionScores(std::vector<std::string> blobs) : blobs_(std::move(blobs)) {}

  // Rows of DetectionEvaluate among the outputs of a batch: five numbers each.
  void Add(int64_t batch, const std::vector<OutputValue>& outputs);
  // Those of all ranks, on all ranks. Collective.
  void Gather(Communicator* ranks);

  struct OfBlob {
    std::string blob;
    std::map<int, double> classes;  // average precisions
    double mean = 0;  // over all classes, those without objects counting as 0, as in SSD
  };
  std::vector<OfBlob> Compute(PrecisionRule rule) const;

  // The means, as scores of a test; `each_class`: with a log line for each class.
  std::vector<OutputValue> Log(PrecisionRule rule, bool each_class) const;

 private:
  // A number of objects, or a detection, with its place in the test.
  struct Row {
    double blob, label, score, right, objects, batch, place;
  };
  static constexpr int64_t kNumbers = 7;

  const std::vector<std::string> blobs_;
  std::vector<Row> rows_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_AVERAGE_PRECISION_H_
