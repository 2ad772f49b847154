// The math of ROIAlign and PSROIAlign, shared by all devices: the points of the bins, and functors
// that compute one element of the top, one element of the bottom's gradient, or one plane of the
// bottom's gradient. A bin is the mean over a grid of points, at which the bottom is interpolated
// bilinearly. Each functor adds its terms in a fixed order; GPUs use the gradient's functor for
// elements, which suits many threads, and CPUs the functor for planes. Sources: K. He et al.,
// "Mask R-CNN", 2017, section 3; the layers ROIAlign of github.com/zhaoweicai/cascade-rcnn and
// PSROIAlign of github.com/afantideng/R-FCN-PSROIAlign.
//
// As in roi_pooling_ops.h, no product is an operand of an addition where the sum decides whether a
// point counts: all devices must use the same points.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_ALIGN_OPS_H_
#define DOPPIO_LAYERS_DETECTION_ROI_ALIGN_OPS_H_

#include "layers/detection/roi_pooling_ops.h"

namespace doppio {

// A point along one axis, between the positions low and high of the bottom.
template <class T>
struct AxisPoint {
  int64_t low = 0, high = 0;
  T part = 0;           // the weight of high; that of low is 1 - part
  bool counts = false;  // false: the value at the point is 0

  AxisPoint() = default;
  // The point `at` counts. It is clamped to [0, size - 1].
  DOPPIO_HD AxisPoint(T at, int64_t size) : counts(true) {
    const T inside = at > 0 ? at : 0;
    low = CutToAxis(static_cast<int64_t>(inside), size - 1);
    high = CutToAxis(low + 1, size - 1);
    part = high > low ? inside - static_cast<T>(low) : 0;
  }
  // Interpolates between the values at low and high.
  DOPPIO_HD T Mix(T at_low, T at_high) const { return (1 - part) * at_low + part * at_high; }
  // Returns the weight of position i.
  DOPPIO_HD T On(int64_t i) const {
    return !counts ? 0 : i == low ? 1 - part : i == high ? part : 0;
  }
};

// The three classes of points below have the same members:
//   count: the points of each bin;
//   Position(i, k): point k of bin i in pixels of the bottom, which does not fall with i or k;
//   At(i, k): the same point, clamped to the bottom;
//   Near(i, from, to): a span with all points of bin i that are in [from, to].

// ROIAlign's points: each bin has as many as it has pixels, rounded up, or RoiForm::samples.
template <class T>
struct AlignPoints {
  T low = 0, pixels = 1, scale = 1;  // low and pixels are in pixels of the image
  int64_t bins = 1, size = 1, count = 1;
  bool chosen = false;  // the user chose count

  DOPPIO_HD explicit AlignPoints(const RoiAxis<T>& axis)
      : low(CutPixel(axis.low)),
        scale(axis.scale),
        bins(axis.bins),
        size(axis.size),
        count(axis.samples),
        chosen(axis.samples > 0) {
    pixels = CutPixel(axis.high) - low;
    T extent = pixels * scale;
    if (!(extent > 1)) {
      extent = 1;
      pixels = 1 / scale;
    }
    if (!chosen) count = static_cast<int64_t>(std::ceil(CutPixel(extent / static_cast<T>(bins))));
  }
  DOPPIO_HD T Position(int64_t i, int64_t k) const {
    const T in_bin = (static_cast<T>(k) + T(0.5)) / static_cast<T>(count);
    return ((static_cast<T>(i) + in_bin) * pixels / static_cast<T>(bins) + low) * scale;
  }
  DOPPIO_HD AxisPoint<T> At(int64_t i, int64_t k) const {
    const T at = Position(i, k);
    return at >= -1 && at <= static_cast<T>(size) ? AxisPoint<T>(at, size) : AxisPoint<T>();
  }
  // Bounds the work for a region that is much larger than the bottom.
  DOPPIO_HD RoiSpan Near(int64_t i, T from, T to) const {
    if (chosen || count <= 8) return {0, count};
    return {CutToAxis(static_cast<int64_t>(std::floor(PointOf(i, from))) - 2, count),
            CutToAxis(static_cast<int64_t>(std::ceil(PointOf(i, to))) + 2, count)};
  }

 private:
  // Returns about which point of bin i is at position `at`.
  DOPPIO_HD T PointOf(int64_t i, T at) const {
    const T bin = (at / scale - low) * static_cast<T>(bins) / pixels;
    return CutPixel((bin - static_cast<T>(i)) * static_cast<T>(count));
  }
};

// ROIAlign's points in Cascade R-CNN: the corners of bins, of which there is one more than there
// are bins. Each corner is a bin of RoiForm. The center of the bottom's first pixel is at 0.5.
template <class T>
struct CornerPoints {
  T low = 0, pixels = 1, scale = 1;  // low and pixels are in pixels of the image
  int64_t bins = 1, size = 1, count = 1;

  DOPPIO_HD explicit CornerPoints(const RoiAxis<T>& axis)
      : low(axis.low),
        pixels(axis.high - axis.low),
        scale(axis.scale),
        bins(axis.bins - 1),
        size(axis.size) {}
  DOPPIO_HD T Position(int64_t i, int64_t) const { return Corner(i) - T(0.5); }
  DOPPIO_HD AxisPoint<T> At(int64_t i, int64_t) const {
    const T corner = Corner(i);
    const bool counts = pixels > 0 && corner >= 0 && corner <= static_cast<T>(size);
    return counts ? AxisPoint<T>(corner - T(0.5), size) : AxisPoint<T>();
  }
  DOPPIO_HD RoiSpan Near(int64_t, T, T) const { return {0, 1}; }

 private:
  DOPPIO_HD T Corner(int64_t i) const {
    return (static_cast<T>(i) * pixels / static_cast<T>(bins) + low) * scale;
  }
};

// PSROIAlign's points: RoiForm::samples in each bin, at equal distances from each other and from
// the bin's edges. The edges are clamped to the centers of the first and last pixel. If the first
// edge moves, the points move with it; points beyond the second edge do not count.
template <class T>
struct PsAlignPoints {
  T low = 0, pixels = 1, scale = 1;  // low and pixels are in pixels of the image
  int64_t bins = 1, size = 1, count = 1;

  DOPPIO_HD explicit PsAlignPoints(const RoiAxis<T>& axis)
      : low(axis.low),
        pixels(axis.high + 1 - axis.low),
        scale(axis.scale),
        bins(axis.bins),
        size(axis.size),
        count(axis.samples) {
    const T least = T(0.1) / scale;
    if (!(pixels > least)) pixels = least;
  }
  DOPPIO_HD T Position(int64_t i, int64_t k) const {
    return Edge(i) + static_cast<T>(k + 1) * pixels * scale / static_cast<T>(bins) /
                         static_cast<T>(count + 1);
  }
  DOPPIO_HD AxisPoint<T> At(int64_t i, int64_t k) const {
    const T at = Position(i, k);
    return at < Edge(i + 1) ? AxisPoint<T>(at, size) : AxisPoint<T>();
  }
  DOPPIO_HD RoiSpan Near(int64_t, T, T) const { return {0, count}; }

 private:
  DOPPIO_HD T Edge(int64_t i) const {
    const T edge = (static_cast<T>(i) * pixels / static_cast<T>(bins) + low) * scale;
    const T last = static_cast<T>(size - 1);
    return edge > 0 ? (edge < last ? edge : last) : 0;
  }
};

// Returns false if no point of the bins can have a weight on position `at` of the bottom. May
// return true although none has.
template <template <class> class Points, class T>
DOPPIO_HD bool MayTouch(const Points<T>& points, const RoiSpan& bins, int64_t at) {
  const T center = static_cast<T>(at);
  return !(points.Position(bins.begin, 0) > center + 1 ||
           points.Position(bins.end - 1, points.count - 1) < center - 1);
}

// Returns the sum of the weights of bin i's points on position `at` of the bottom.
template <template <class> class Points, class T>
DOPPIO_HD T WeightOn(const Points<T>& points, int64_t i, int64_t at) {
  T sum = 0;
  if (!MayTouch(points, {i, i + 1}, at)) return sum;
  const T center = static_cast<T>(at);
  const RoiSpan near = points.Near(i, center - 1, center + 1);
  for (int64_t k = near.begin; k < near.end; ++k) sum += points.At(i, k).On(at);
  return sum;
}

// The bins of a region that read one channel of the bottom.
struct BinsOfChannel {
  RoiSpan rows, columns;
  int64_t region, first, width;  // elements of a region of the top, and the element of bin (0, 0)

  DOPPIO_HD BinsOfChannel(const RoiForm& form, int64_t channel)
      : rows{0, form.bins_h},
        columns{0, form.bins_w},
        region(form.top_channels * form.bins()),
        first(channel * form.bins()),
        width(form.bins_w) {
    if (!form.own_channels) return;
    // The bottom's channel is the index of (top channel, i, j) in row-major order.
    const int64_t i = channel / width % form.bins_h, j = channel % width;
    rows = {i, i + 1};
    columns = {j, j + 1};
    first = channel - i * width - j;
  }
  // Returns the index in the top of bin (i, j) of region r.
  DOPPIO_HD int64_t At(int64_t r, int64_t i, int64_t j) const {
    return r * region + first + i * width + j;
  }
};

// Writes the mean over each bin's points to y. If a region names no image of the batch, writes NaN
// and sets *bad to 1.
template <class T, template <class> class Points>
struct RoiPointMean {
  RoiForm form;
  const T *x, *rois;
  T* y;
  int32_t* from;  // not used
  uint32_t* bad;

  DOPPIO_HD void operator()(int64_t n) const {
    const RoiElement e(form, n);
    const T* roi = rois + kRoiNumbers * e.roi;
    const T* plane = PlaneOfBin(form, e, x, rois);
    if (plane == nullptr) {
      *bad = 1;
      y[n] = static_cast<T>(NAN);
      return;
    }
    const Points<T> rows = RowsOfRoi<Points<T>>(form, roi),
                    columns = ColumnsOfRoi<Points<T>>(form, roi);
    const RoiSpan down = rows.Near(e.i, -1, static_cast<T>(form.height));
    const RoiSpan across = columns.Near(e.j, -1, static_cast<T>(form.width));
    T sum = 0;
    for (int64_t k = down.begin; k < down.end; ++k) {
      const AxisPoint<T> row = rows.At(e.i, k);
      if (!row.counts) continue;
      const T *upper = plane + row.low * form.width, *lower = plane + row.high * form.width;
      for (int64_t l = across.begin; l < across.end; ++l) {
        const AxisPoint<T> column = columns.At(e.j, l);
        if (!column.counts) continue;
        sum += row.Mix(column.Mix(upper[column.low], upper[column.high]),
                       column.Mix(lower[column.low], lower[column.high]));
      }
    }
    y[n] = sum / static_cast<T>(rows.count * columns.count);
  }
};

// Computes one element of the bottom's gradient.
template <class T, template <class> class Points>
struct RoiPointMeanGradient {
  RoiForm form;
  const T *rois, *dy;
  const int32_t* from;  // not used
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t w = n % form.width, h = n / form.width % form.height;
    const int64_t channel = n / form.plane() % form.channels,
                  image = n / form.plane() / form.channels;
    const BinsOfChannel bins(form, channel);
    T sum = 0;
    for (int64_t r = 0; r < form.rois; ++r) {
      const T* roi = rois + kRoiNumbers * r;
      if (ImageOfRoi(form, roi) != image) continue;
      const Points<T> rows = RowsOfRoi<Points<T>>(form, roi),
                      columns = ColumnsOfRoi<Points<T>>(form, roi);
      if (!MayTouch(rows, bins.rows, h) || !MayTouch(columns, bins.columns, w)) continue;
      T of_region = 0;
      for (int64_t i = bins.rows.begin; i < bins.rows.end; ++i) {
        const T row = WeightOn(rows, i, h);
        if (row == 0) continue;
        for (int64_t j = bins.columns.begin; j < bins.columns.end; ++j)
          of_region += row * WeightOn(columns, j, w) * dy[bins.At(r, i, j)];
      }
      sum += of_region / static_cast<T>(rows.count * columns.count);
    }
    dx[n] = sum;
  }
};

// Computes plane n of the bottom's gradient. The results differ from those of RoiPointMeanGradient
// only by rounding.
template <class T, template <class> class Points>
struct RoiPointMeanPlaneGradient {
  RoiForm form;
  const T *rois, *dy;
  const int32_t* from;  // not used
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    T* plane = dx + n * form.plane();
    for (int64_t k = 0; k < form.plane(); ++k) plane[k] = 0;
    const int64_t channel = n % form.channels, image = n / form.channels;
    const BinsOfChannel bins(form, channel);
    for (int64_t r = 0; r < form.rois; ++r) {
      const T* roi = rois + kRoiNumbers * r;
      if (ImageOfRoi(form, roi) != image) continue;
      const Points<T> rows = RowsOfRoi<Points<T>>(form, roi);
      for (int64_t i = bins.rows.begin; i < bins.rows.end; ++i) {
        const RoiSpan down = rows.Near(i, -1, static_cast<T>(form.height));
        for (int64_t k = down.begin; k < down.end; ++k) {
          const AxisPoint<T> row = rows.At(i, k);
          if (row.counts) AddRow(bins, r, i, row, rows.count, plane);
        }
      }
    }
  }

 private:
  // Adds the gradients of the points of region r in one row of points, which is in bin row i.
  DOPPIO_HD void AddRow(const BinsOfChannel& bins, int64_t r, int64_t i, const AxisPoint<T>& row,
                        int64_t rows, T* plane) const {
    const Points<T> columns = ColumnsOfRoi<Points<T>>(form, rois + kRoiNumbers * r);
    T *upper = plane + row.low * form.width, *lower = plane + row.high * form.width;
    for (int64_t j = bins.columns.begin; j < bins.columns.end; ++j) {
      const T share = dy[bins.At(r, i, j)] / static_cast<T>(rows * columns.count);
      const T above = share * (1 - row.part), below = share * row.part;
      const RoiSpan across = columns.Near(j, -1, static_cast<T>(form.width));
      for (int64_t l = across.begin; l < across.end; ++l) {
        const AxisPoint<T> column = columns.At(j, l);
        if (!column.counts) continue;
        const T left = 1 - column.part, right = column.part;
        upper[column.low] += above * left;
        upper[column.high] += above * right;
        lower[column.low] += below * left;
        lower[column.high] += below * right;
      }
    }
  }
};

// The functors of a layer for one class of points, as in roi_pooling_ops.h.
template <class T, template <class> class Points>
struct MeanOfPoints {
  using Forward = RoiPointMean<T, Points>;
  using Gradient = RoiPointMeanGradient<T, Points>;
  using PlaneGradient = RoiPointMeanPlaneGradient<T, Points>;
  static constexpr bool kKeepsPositions = false;
};
template <class T>
struct AlignedRois : MeanOfPoints<T, AlignPoints> {
  static constexpr char kName[] = "ROIAlign";
};
template <class T>
struct CornersOfRois : MeanOfPoints<T, CornerPoints> {
  static constexpr char kName[] = "ROIAlign";
};
template <class T>
struct PsAlignedRois : MeanOfPoints<T, PsAlignPoints> {
  static constexpr char kName[] = "PSROIAlign";
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_ALIGN_OPS_H_
