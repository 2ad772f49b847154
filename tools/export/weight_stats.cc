#include "tools/export/weight_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace doppio {
namespace {

// Returns null for a blob that the file leaves out, which is stored with no elements.
const PlainBlob* BlobOf(const LayerBlobs* layer, size_t index) {
  if (layer == nullptr || index >= layer->blobs.size()) return nullptr;
  const PlainBlob& blob = layer->blobs[index];
  return blob.shape == Shape{0} ? nullptr : &blob;
}

const LayerBlobs* FindLayer(const WeightsFile& file, const std::string& name) {
  for (const LayerBlobs& layer : file.layers) {
    if (layer.name == name) return &layer;
  }
  return nullptr;
}

double Distance(float a, float b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double distance = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

class Comparison {
 public:
  Comparison(const WeightsFile& a, const WeightsFile& b) : a_(a), b_(b) {}

  std::vector<BlobDifference> Run() {
    for (const LayerBlobs& layer : a_.layers) Add(&layer, FindLayer(b_, layer.name));
    for (const LayerBlobs& layer : b_.layers) {
      if (FindLayer(a_, layer.name) == nullptr) Add(nullptr, &layer);
    }
    return found_;
  }

 private:
  void Add(const LayerBlobs* a, const LayerBlobs* b) {
    const size_t count =
        std::max(a == nullptr ? 0 : a->blobs.size(), b == nullptr ? 0 : b->blobs.size());
    for (size_t i = 0; i < count; ++i) {
      const PlainBlob *of_a = BlobOf(a, i), *of_b = BlobOf(b, i);
      if (of_a == nullptr && of_b == nullptr) continue;
      // An HDF5 file leaves out the blobs that another layer owns.
      if ((of_a == nullptr && a != nullptr && a_.hdf5) ||
          (of_b == nullptr && b != nullptr && b_.hdf5)) {
        continue;
      }
      BlobDifference difference;
      difference.layer = (a != nullptr ? a : b)->name;
      difference.index = static_cast<int>(i);
      difference.shape = (of_a != nullptr ? of_a : of_b)->shape;
      if (of_a == nullptr || of_b == nullptr) {
        difference.unlike = "only in " + (of_a != nullptr ? a_ : b_).path;
      } else if (WithoutOnes(of_a->shape) != WithoutOnes(of_b->shape)) {
        difference.unlike =
            "shape " + of_a->shape.ToString() + ", in " + b_.path + " " + of_b->shape.ToString();
      } else {
        const ValueDifference values = DifferenceOf(of_a->data.data(), of_b->data.data(),
                                                    static_cast<int64_t>(of_a->data.size()));
        difference.absolute = values.absolute;
        difference.relative = values.relative();
      }
      found_.push_back(difference);
    }
  }

  const WeightsFile &a_, &b_;
  std::vector<BlobDifference> found_;
};

}  // namespace

std::vector<int64_t> WithoutOnes(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  dims.erase(std::remove(dims.begin(), dims.end(), 1), dims.end());
  return dims;
}

double ValueDifference::relative() const {
  if (absolute == 0) return 0;
  return largest > 0 ? absolute / largest : std::numeric_limits<double>::infinity();
}

void ValueDifference::Add(const ValueDifference& other) {
  if (other.absolute > absolute) index = other.index;
  absolute = std::max(absolute, other.absolute);
  largest = std::max(largest, other.largest);
}

ValueDifference DifferenceOf(const float* a, const float* b, int64_t count) {
  ValueDifference difference;
  for (int64_t i = 0; i < count; ++i) {
    const double distance = Distance(a[i], b[i]);
    if (distance > difference.absolute) {
      difference.absolute = distance;
      difference.index = i;
    }
    if (std::isfinite(a[i]))
      difference.largest = std::max(difference.largest, std::abs(static_cast<double>(a[i])));
  }
  return difference;
}

std::string IndexText(const Shape& shape, int64_t index) {
  std::string text = "]";
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = (axis > 0 ? "," : "[") + std::to_string(index % shape[axis]) + text;
    index /= shape[axis];
  }
  return shape.rank() == 0 ? "[]" : text;
}

BlobStats StatsOf(const std::vector<float>& values) {
  BlobStats stats;
  double sum = 0, squares = 0;
  int64_t numbers = 0;
  for (const float value : values) {
    if (std::isnan(value)) {
      ++stats.nans;
      continue;
    }
    const double v = value;
    stats.min = numbers == 0 ? v : std::min(stats.min, v);
    stats.max = numbers == 0 ? v : std::max(stats.max, v);
    sum += v;
    squares += v * v;
    ++numbers;
  }
  if (numbers > 0) stats.mean = sum / static_cast<double>(numbers);
  stats.norm = std::sqrt(squares);
  return stats;
}

std::vector<BlobDifference> Compare(const WeightsFile& a, const WeightsFile& b) {
  return Comparison(a, b).Run();
}

}  // namespace doppio
