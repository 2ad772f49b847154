#include "solvers/scores/predictions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/threads.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/sample_source.h"
#include "solvers/scores/gather_rows.h"
#include "solvers/scores/thumbnail.h"

namespace doppio {
namespace {

// Labels are cut to integers, as LabelReader does (layers/common/labels.h). The layer has already
// refused labels that are no classes.
int32_t ClassOf(float label) { return static_cast<int32_t>(std::trunc(label)); }

bool Ignores(const ScoreHead& head, float label) {
  return head.ignore && std::trunc(label) == static_cast<float>(*head.ignore);
}

// Returns the source whose samples the rows of a batch are. Returns null if there is none, or if a
// layer may change the number of rows.
const SampleSource* SamplesOf(const Net& net) {
  const SampleSource* first = nullptr;
  for (size_t n = 0; n < net.graph().nodes.size(); ++n) {
    Kernel* const kernel = net.plan().kernel(static_cast<int>(n));
    if (!net.graph().nodes[n].bottoms.empty()) {
      if (ChangerOf(kernel) != nullptr) return nullptr;
    } else if (first == nullptr) {
      first = SourceOf(kernel);
    }
  }
  return first;
}

// Returns the path in a name such as "image 'a/b.jpg' (val.txt:3)", or other names unchanged.
std::string PathOf(const std::string& name) {
  const std::string begin = "image '";
  const size_t end = name.rfind("' (");
  if (name.compare(0, begin.size(), begin) != 0 || end == std::string::npos) return name;
  return name.substr(begin.size(), end - begin.size());
}

// Finds the predicted class of a label's scores. A score of NaN counts as higher than any other, so
// that the prediction is wrong.
void Predict(const float* scores, int64_t classes, Prediction* row) {
  const float of_label = scores[row->label];
  row->place = 0;
  int64_t best = -1;  // of the other classes
  for (int64_t c = 0; c < classes; ++c) {
    row->place += !(scores[c] < of_label);
    if (c != row->label && (best < 0 || scores[c] > scores[best])) best = c;
  }
  row->predicted = row->right() || best < 0 ? row->label : static_cast<int32_t>(best);
}

// Replaces scores by their softmax.
void Softmax(float* scores, int64_t classes) {
  const float most = *std::max_element(scores, scores + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(scores[c] - most));
  for (int64_t c = 0; c < classes; ++c)
    scores[c] = static_cast<float>(std::exp(static_cast<double>(scores[c] - most)) / sum);
}

// The order of wrong predictions: the greatest confidence first.
template <class A, class B>
bool Before(const A& a, const B& b) {
  return a.confidence != b.confidence ? a.confidence > b.confidence : a.position < b.position;
}

}  // namespace

std::optional<ScoreHead> CollectedHead(const Net& net) {
  const std::optional<ScoreHead> head = FindScoreHead(net.graph());
  const std::vector<Tensor>& values = net.plan().values;
  if (!head || !values[head->scores] || !values[head->labels]) return std::nullopt;
  return head;
}

PredictionCollector::PredictionCollector(const Net& net, const ScoreHead& head, int64_t batches,
                                         int64_t most_named)
    : most_named_(most_named), batch_rows_(BatchOf(net.graph())) {
  const Graph& graph = net.graph();
  const Shape& shape = graph.edges[head.scores].shape;
  const bool numbers = head.kind == HeadKind::kRegression;
  Predictions& result = *result_;
  result.head = head;
  result.scores_blob = graph.edges[head.scores].name;
  result.labels_blob = graph.edges[head.labels].name;
  result.classes = numbers ? 0 : head.classes(graph);
  batch_positions_ = numbers ? shape.dim_or_1(0) : shape.count(0, head.axis);
  result.width =
      numbers ? 2 * shape.count() / std::max<int64_t>(1, batch_positions_) : result.classes;
  keeps_values_ = head.kind != HeadKind::kSegmentation &&
                  batches * batch_positions_ * result.width <= kMostKeptValues;
  if (head.kind == HeadKind::kSegmentation)
    result.pixels.assign(result.classes * result.classes, 0);
  const SampleSource* const source = SamplesOf(net);
  first_sample_ = source == nullptr ? 0 : source->position();
  if (source == nullptr) result.head.image = -1;
}

void PredictionCollector::Add(const Net& net, int64_t batch) {
  const Shape& shape = net.graph().edges[result_->head.scores].shape;
  const std::vector<float> scores = ReadEdge(net, result_->head.scores),
                           labels = ReadEdge(net, result_->head.labels);
  const size_t first_row = result_->rows.size();
  const int64_t first = batch * batch_positions_;
  switch (result_->head.kind) {
    case HeadKind::kClassifier:
      AddClasses(scores, labels, first);
      return AddImages(net, batch, first_row);
    case HeadKind::kSegmentation:
      return AddPixels(shape, scores, labels);
    case HeadKind::kRegression:
      return AddNumbers(shape, scores, labels, first);
  }
}

void PredictionCollector::AddClasses(const std::vector<float>& scores,
                                     const std::vector<float>& labels, int64_t first) {
  Predictions& result = *result_;
  std::vector<float> of_row(result.classes);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (Ignores(result.head, labels[i])) {
      ++result.ignored;
      continue;
    }
    std::copy_n(scores.begin() + static_cast<int64_t>(i) * result.classes, result.classes,
                of_row.begin());
    Prediction row;
    row.position = first + static_cast<int64_t>(i);
    row.label = ClassOf(labels[i]);
    Predict(of_row.data(), result.classes, &row);
    if (!result.head.probabilities) Softmax(of_row.data(), result.classes);
    // Curves and lists need an order, which NaN has not.
    for (float& value : of_row) value = std::isfinite(value) ? value : 0;
    row.confidence = of_row[row.predicted];
    result.rows.push_back(row);
    if (keeps_values_) result.values.insert(result.values.end(), of_row.begin(), of_row.end());
  }
}

void PredictionCollector::AddPixels(const Shape& shape, const std::vector<float>& scores,
                                    const std::vector<float>& labels) {
  Predictions& result = *result_;
  const int64_t inner = shape.count(result.head.axis + 1);
  std::vector<int32_t> predicted(labels.size(), -1);
  ParallelForEach(static_cast<int64_t>(labels.size()), 1 + 16384 / result.classes, [&](int64_t i) {
    if (Ignores(result.head, labels[i])) return;
    const float* at = scores.data() + i / inner * result.classes * inner + i % inner;
    int32_t best = 0;
    for (int32_t c = 1; c < result.classes; ++c) best = at[c * inner] > at[best * inner] ? c : best;
    predicted[i] = best;
  });
  for (size_t i = 0; i < labels.size(); ++i) {
    if (predicted[i] < 0) {
      ++result.ignored;
    } else {
      ++result.pixels[ClassOf(labels[i]) * result.classes + predicted[i]];
    }
  }
}

void PredictionCollector::AddNumbers(const Shape& shape, const std::vector<float>& scores,
                                     const std::vector<float>& labels, int64_t first) {
  if (!keeps_values_) return;
  Predictions& result = *result_;
  const int64_t each = result.width / 2;
  for (int64_t row = 0; row < shape.dim_or_1(0); ++row) {
    result.rows.push_back({first + row});
    for (const std::vector<float>* from : {&scores, &labels}) {
      const auto begin = from->begin() + row * each;
      result.values.insert(result.values.end(), begin, begin + each);
    }
  }
}

void PredictionCollector::AddImages(const Net& net, int64_t batch, size_t first_row) {
  Predictions& result = *result_;
  if (result.head.image < 0 || !net.plan().values[result.head.image]) return;
  std::vector<float> images;
  const int64_t per_sample = std::max<int64_t>(1, batch_positions_ / batch_rows_);
  for (size_t i = first_row; i < result.rows.size(); ++i) {
    const Prediction& row = result.rows[i];
    std::vector<Thumbnail>& kept = result.thumbnails;
    if (row.right() || (kept.size() == kMostThumbnails && !Before(row, kept.back()))) continue;
    if (images.empty()) images = ReadEdge(net, result.head.image);
    const Shape& shape = net.graph().edges[result.head.image].shape;
    const int64_t image = (row.position - batch * batch_positions_) / per_sample;
    if (image >= shape[0]) continue;
    Thumbnail thumbnail =
        MakeThumbnail(images.data() + image * shape.count(1), shape, net.graph().preprocessing);
    thumbnail.position = row.position;
    thumbnail.confidence = row.confidence;
    kept.insert(
        std::upper_bound(kept.begin(), kept.end(), thumbnail, &Before<Thumbnail, Thumbnail>),
        thumbnail);
    if (kept.size() > kMostThumbnails) kept.pop_back();
  }
}

void PredictionCollector::Gather(Communicator* ranks) {
  Predictions& result = *result_;
  GatherRows(ranks, &result.rows);
  GatherRows(ranks, &result.values);
  GatherRows(ranks, &result.thumbnails);
  std::vector<double> sums(result.pixels.begin(), result.pixels.end());
  sums.push_back(static_cast<double>(result.ignored));
  ranks->AllReduce(sums.data(), static_cast<int64_t>(sums.size()), DType::kFloat64);
  result.ignored = static_cast<int64_t>(sums.back());
  for (size_t i = 0; i < result.pixels.size(); ++i)
    result.pixels[i] = static_cast<int64_t>(sums[i]);
  std::sort(result.thumbnails.begin(), result.thumbnails.end(), &Before<Thumbnail, Thumbnail>);
  if (result.thumbnails.size() > kMostThumbnails) result.thumbnails.resize(kMostThumbnails);
}

// Brings the rows of several ranks, and their values, to the order of their positions.
void PredictionCollector::SortRows() {
  Predictions& result = *result_;
  std::vector<size_t> order(result.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return result.rows[a].position < result.rows[b].position; });
  std::vector<Prediction> rows;
  std::vector<float> values;
  values.reserve(result.values.size());
  for (const size_t i : order) {
    rows.push_back(result.rows[i]);
    if (result.values.empty()) continue;
    const auto begin = result.values.begin() + static_cast<int64_t>(i) * result.width;
    values.insert(values.end(), begin, begin + result.width);
  }
  result.rows = std::move(rows);
  result.values = std::move(values);
}

void PredictionCollector::NameWrong(const Net& net) {
  Predictions& result = *result_;
  if (result.head.kind != HeadKind::kClassifier) return;
  for (size_t i = 0; i < result.rows.size(); ++i) {
    if (!result.rows[i].right()) result.wrong.push_back({i, 0, ""});
  }
  result.wrong_rows = static_cast<int64_t>(result.wrong.size());
  std::sort(result.wrong.begin(), result.wrong.end(), [&](const auto& a, const auto& b) {
    return Before(result.rows[a.row], result.rows[b.row]);
  });
  result.wrong.resize(std::min<int64_t>(result.wrong_rows, most_named_));
  const SampleSource* const source = SamplesOf(net);
  const int64_t per_sample = std::max<int64_t>(1, batch_positions_ / batch_rows_);
  for (WrongPrediction& wrong : result.wrong) {
    wrong.sample = first_sample_ + result.rows[wrong.row].position / per_sample;
    if (source == nullptr) continue;
    wrong.name = PathOf(source->NameOfSample(wrong.sample));
    if (source->source_size() > 0) wrong.sample %= source->source_size();
  }
}

std::shared_ptr<const Predictions> PredictionCollector::Finish(
    const Net& net, Communicator* ranks, const std::vector<std::string>& class_names) {
  if (static_cast<int64_t>(class_names.size()) == result_->classes)
    result_->class_names = class_names;
  if (ranks != nullptr) {
    Gather(ranks);
    SortRows();
  }
  NameWrong(net);
  return std::move(result_);
}

}  // namespace doppio
