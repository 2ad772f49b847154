#include "solvers/scores/average_precision.h"

#include <algorithm>
#include <tuple>

#include "core/base/log.h"
#include "solvers/scores/gather_rows.h"

namespace doppio {
namespace {

// A row of DetectionEvaluate: image, class, score or number of objects, right, wrong. An image of
// -1 marks a row with a number of objects.
constexpr int64_t kEvaluatedRow = 5;
// A row of EvalDetection: the number of objects of each class, then for each box its class, score,
// right, wrong.
constexpr int64_t kRegion = 4;

struct Curve {
  std::vector<double> precision, recall;
};

Curve CurveOf(const std::vector<bool>& found, int64_t objects) {
  Curve curve;
  double right = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    right += found[i] ? 1 : 0;
    curve.precision.push_back(right / static_cast<double>(i + 1));
    curve.recall.push_back(right / static_cast<double>(objects));
  }
  return curve;
}

double ElevenPoint(const Curve& curve) {
  double sum = 0;
  for (int j = 0; j <= 10; ++j) {
    double most = 0;
    for (size_t i = 0; i < curve.recall.size(); ++i) {
      if (curve.recall[i] >= j / 10.0) most = std::max(most, curve.precision[i]);
    }
    sum += most;
  }
  return sum / 11;
}

double Integral(const Curve& curve) {
  double area = 0, before = 0;
  for (size_t i = 0; i < curve.recall.size(); ++i) {
    area += curve.precision[i] * (curve.recall[i] - before);
    before = curve.recall[i];
  }
  return area;
}

double MaxIntegral(const Curve& curve) {
  double area = 0, most = 0;
  for (size_t i = curve.recall.size(); i-- > 0;) {
    most = std::max(most, curve.precision[i]);
    if (i + 1 < curve.recall.size()) area += most * (curve.recall[i + 1] - curve.recall[i]);
    if (i == 0) area += most * curve.recall[0];
  }
  return area;
}

}  // namespace

std::optional<PrecisionRule> ReadPrecisionRule(const SolverParameter& solver,
                                               const FieldPlaces& places) {
  if (solver.eval_type() == "classification") return std::nullopt;
  if (solver.eval_type() != "detection") {
    throw UserError(places.At("eval_type"), "unknown eval_type '", solver.eval_type(),
                    "'; classification and detection are known");
  }
  if (solver.ap_version() == "11point") return PrecisionRule::kElevenPoint;
  if (solver.ap_version() == "Integral") return PrecisionRule::kIntegral;
  if (solver.ap_version() == "MaxIntegral") return PrecisionRule::kMaxIntegral;
  throw UserError(places.At("ap_version"), "unknown ap_version '", solver.ap_version(),
                  "'; 11point, Integral and MaxIntegral are known");
}

bool ScoresDetections(const Graph& graph) {
  return !graph.outputs.empty() &&
         std::all_of(graph.outputs.begin(), graph.outputs.end(), [&](int output) {
           return graph.nodes[graph.edges[output].producer].type->detection_classes != nullptr;
         });
}

std::vector<DetectionBlob> DetectionOutputs(const Net& net, const SourceLoc& at) {
  const Graph& graph = net.graph();
  std::vector<DetectionBlob> blobs;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Edge& edge = graph.edges[graph.outputs[i]];
    const auto classes = graph.nodes[edge.producer].type->detection_classes;
    const int64_t row = edge.shape.rank() > 0 ? edge.shape[edge.shape.rank() - 1] : 0;
    const int counts = classes == nullptr ? 0 : classes(graph.layer(edge.producer).param);
    blobs.push_back({edge.name, row, counts});
    if (counts > 0 || row == kEvaluatedRow) continue;
    throw UserError(at,
                    "with eval_type: \"detection\", all outputs of a test net must be tops of "
                    "DetectionEvaluate or EvalDetection, but '",
                    edge.name, "' is ", edge.shape.ToString(),
                    " (consume a top that is no result with a Silence layer)");
  }
  return blobs;
}

double AveragePrecision(PrecisionRule rule, const std::vector<bool>& found, int64_t objects) {
  if (objects <= 0) return 0;
  const Curve curve = CurveOf(found, objects);
  if (rule == PrecisionRule::kElevenPoint) return ElevenPoint(curve);
  return rule == PrecisionRule::kMaxIntegral ? MaxIntegral(curve) : Integral(curve);
}

void DetectionScores::Add(int64_t batch, const std::vector<OutputValue>& outputs) {
  const auto count = static_cast<int64_t>(outputs.size());
  for (int64_t i = 0; i < count;) {
    const auto blob = std::find_if(
        blobs_.begin(), blobs_.end(),
        [&](const DetectionBlob& candidate) { return candidate.name == outputs[i].blob; });
    DOPPIO_CHECK(blob != blobs_.end() && i + blob->row <= count, "output " + outputs[i].blob);
    const Place place = {static_cast<double>(blob - blobs_.begin()), static_cast<double>(batch), i};
    if (blob->classes > 0) {
      AddRegions(place, *blob, outputs);
    } else {
      AddEvaluated(place, outputs);
    }
    i += blob->row;
  }
}

void DetectionScores::AddEvaluated(const Place& at, const std::vector<OutputValue>& outputs) {
  const auto number = [&](int64_t k) { return outputs[at.output + k].value; };
  // A detection of an object that does not count is neither right nor wrong, like an empty row.
  if (number(1) == -1) return;
  if (number(0) == -1) {
    AddObjects(at, number(1), number(2));
  } else {
    AddDetection(at, number(1), number(2), number(3), number(4));
  }
}

void DetectionScores::AddRegions(const Place& at, const DetectionBlob& blob,
                                 const std::vector<OutputValue>& outputs) {
  const auto number = [&](int64_t k) { return outputs[at.output + k].value; };
  for (int64_t label = 0; label < blob.classes; ++label)
    AddObjects(at, static_cast<double>(label), number(label));
  for (int64_t k = blob.classes; k < blob.row; k += kRegion) {
    const Place place = {at.blob, at.batch, at.output + k};
    AddDetection(place, number(k), number(k + 1), number(k + 2), number(k + 3));
  }
}

void DetectionScores::AddObjects(const Place& at, double label, double objects) {
  rows_.push_back({at.blob, label, 0, 0, objects, at.batch, static_cast<double>(at.output)});
}

void DetectionScores::AddDetection(const Place& at, double label, double score, double right,
                                   double wrong) {
  if (right == 0 && wrong == 0) return;
  rows_.push_back({at.blob, label, score, right, -1, at.batch, static_cast<double>(at.output)});
}

void DetectionScores::Gather(Communicator* ranks) { GatherRows(ranks, &rows_); }

std::vector<DetectionScores::OfBlob> DetectionScores::Compute(PrecisionRule rule) const {
  std::vector<Row> rows = rows_;
  // Makes the order independent of the number of ranks.
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::make_tuple(a.blob, a.label, -a.score, a.batch, a.place) <
           std::make_tuple(b.blob, b.label, -b.score, b.batch, b.place);
  });
  struct OfClass {
    int64_t objects = 0;
    std::vector<bool> found;
  };
  std::vector<std::map<int, OfClass>> classes(blobs_.size());
  for (const Row& row : rows) {
    auto& [objects, found] = classes[static_cast<int>(row.blob)][static_cast<int>(row.label)];
    if (row.objects >= 0) {
      objects += static_cast<int64_t>(row.objects);
    } else {
      found.push_back(row.right != 0);
    }
  }
  std::vector<OfBlob> scores;
  for (size_t b = 0; b < blobs_.size(); ++b) {
    OfBlob of_blob{blobs_[b].name, {}, 0, 0};
    for (const auto& [label, of_class] : classes[b]) {
      if (of_class.objects == 0) ++of_blob.without_objects;
      const double precision = AveragePrecision(rule, of_class.found, of_class.objects);
      of_blob.classes[label] = precision;
      of_blob.mean += precision / static_cast<double>(classes[b].size());
    }
    scores.push_back(std::move(of_blob));
  }
  return scores;
}

std::vector<OutputValue> DetectionScores::Log(PrecisionRule rule, bool each_class) const {
  std::vector<OutputValue> means;
  for (const OfBlob& of_blob : Compute(rule)) {
    for (const auto& [label, precision] : of_blob.classes) {
      if (each_class) LOG(INFO) << "class" << label << ": " << precision;
    }
    if (of_blob.without_objects > 0) {
      LOG(WARNING) << of_blob.blob << ": " << of_blob.without_objects << " of "
                   << of_blob.classes.size()
                   << " classes have no objects in this test and count as 0 in the mean";
    }
    means.push_back({of_blob.blob, 0, of_blob.mean});
  }
  return means;
}

}  // namespace doppio
