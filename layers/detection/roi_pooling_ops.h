// The math of ROIPooling and PSROIPooling, shared by all devices: the windows of the bins, and
// functors that compute one element of the top, one element of the bottom's gradient, or one plane
// of the bottom's gradient. Both kinds of gradients add their terms in the same fixed order; GPUs
// use the functor for elements, which suits many threads, and CPUs the functor for planes. Sources:
// R. Girshick, "Fast R-CNN", 2015, section 2.1; J. Dai et al., "R-FCN", 2016, equation 1.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_POOLING_OPS_H_
#define DOPPIO_LAYERS_DETECTION_ROI_POOLING_OPS_H_

#include <cmath>
#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

// The extents of the bottom, the regions and the top.
struct RoiForm {
  int64_t images = 0, channels = 0, height = 1, width = 1;  // the bottom
  int64_t rois = 0, top_channels = 0, bins_h = 1, bins_w = 1;
  float scale = 1;          // pixels of the bottom per pixel of the image
  float pad_ratio = 0;      // the part of a region's size that is added on each of its sides
  int64_t samples = 0;      // ROIAlign, PSROIAlign: points of a bin along each axis; 0: by its size
  bool at_corners = false;  // ROIAlign: the points are the corners of bins
  bool own_channels = false;  // PSROIPooling, PSROIAlign: each bin reads a channel of its own

  DOPPIO_HD int64_t plane() const { return height * width; }
  DOPPIO_HD int64_t bottom_count() const { return images * channels * plane(); }
  DOPPIO_HD int64_t bins() const { return bins_h * bins_w; }
  DOPPIO_HD int64_t top_count() const { return rois * top_channels * bins(); }
};

// Values per region: the image of the batch, then xmin, ymin, xmax, ymax in pixels of the image.
// The region includes both corners.
constexpr int64_t kRoiNumbers = 5;

// Returns the image of the region, or -1 if the batch has no such image.
template <class T>
DOPPIO_HD int64_t ImageOfRoi(const RoiForm& form, const T* roi) {
  // The condition is also false for NaN.
  return roi[0] >= 0 && roi[0] < static_cast<T>(form.images) ? static_cast<int64_t>(roi[0]) : -1;
}

// The positions [begin, end) along an axis.
struct RoiSpan {
  int64_t begin = 0, end = 0;
  DOPPIO_HD bool empty() const { return end <= begin; }
  DOPPIO_HD int64_t size() const { return end - begin; }
  DOPPIO_HD bool has(int64_t i) const { return begin <= i && i < end; }
};

// Returns i clamped to [0, size].
DOPPIO_HD inline int64_t CutToAxis(int64_t i, int64_t size) {
  return i < 0 ? 0 : i > size ? size : i;
}

// Returns `pixel` clamped to [-1e6, 1e6], or 0 for NaN.
template <class T>
DOPPIO_HD T CutPixel(T pixel) {
  const T limit = T(1e6);
  if (!(pixel > -limit)) return pixel <= -limit ? -limit : T(0);
  return pixel < limit ? pixel : limit;
}

// Returns CutPixel(pixel) rounded half away from zero.
template <class T>
DOPPIO_HD T RoundedPixel(T pixel) {
  return std::round(CutPixel(pixel));
}

// A region along one axis, before it is divided into bins. low and high are its corners in pixels
// of the image; the other members are those of RoiForm for this axis. T is the type of the regions,
// in which all positions are computed.
template <class T>
struct RoiAxis {
  T low, high, scale;
  int64_t bins, size, samples;
};

// ROIPooling's region along one axis, in whole pixels of the bottom. It is divided into `bins`
// windows, which may share pixels.
struct MaxSpans {
  int64_t start = 0, pixels = 1, bins = 1, size = 1;

  template <class T>
  DOPPIO_HD explicit MaxSpans(const RoiAxis<T>& axis) : bins(axis.bins), size(axis.size) {
    start = static_cast<int64_t>(RoundedPixel(axis.low * axis.scale));
    const int64_t last = static_cast<int64_t>(RoundedPixel(axis.high * axis.scale));
    pixels = last < start ? 1 : last - start + 1;
  }
  // Returns the positions that bin i reads.
  DOPPIO_HD RoiSpan Bin(int64_t i) const {
    return {CutToAxis(start + i * pixels / bins, size),
            CutToAxis(start + ((i + 1) * pixels + bins - 1) / bins, size)};
  }
  // Returns the bins that read position `at` of the bottom.
  DOPPIO_HD RoiSpan BinsOf(int64_t at) const {
    const int64_t inside = at - start;
    if (inside < 0 || inside >= pixels) return {0, 0};
    const int64_t last = ((inside + 1) * bins - 1) / pixels;
    return {inside * bins / pixels, (last < bins - 1 ? last : bins - 1) + 1};
  }
};

// PSROIPooling's region along one axis. The bins are fractions of a pixel wide; their windows are
// rounded outwards. No product is an operand of an addition, so that no compiler can contract the
// two to a fused multiply-add: all devices must compute the same windows.
template <class T>
struct MeanSpans {
  // start and pixels are in pixels of the image; scale is RoiForm::scale.
  T start = 0, pixels = 1, scale = 1;
  int64_t bins = 1, size = 1;

  DOPPIO_HD explicit MeanSpans(const RoiAxis<T>& axis)
      : scale(axis.scale), bins(axis.bins), size(axis.size) {
    start = RoundedPixel(axis.low);
    const T least = T(0.1) / scale;
    pixels = RoundedPixel(axis.high) + 1 - start;
    if (pixels < least) pixels = least;
  }
  // Returns the positions that bin i reads.
  DOPPIO_HD RoiSpan Bin(int64_t i) const {
    return {CutToAxis(static_cast<int64_t>(std::floor(Edge(i))), size),
            CutToAxis(static_cast<int64_t>(std::ceil(Edge(i + 1))), size)};
  }

 private:
  // Returns the start of bin i in pixels of the bottom.
  DOPPIO_HD T Edge(int64_t i) const {
    return (static_cast<T>(i) * pixels / static_cast<T>(bins) + start) * scale;
  }
};

// Returns the axis of a region with the corners low and high, enlarged by pad_ratio.
template <class T>
DOPPIO_HD RoiAxis<T> AxisOfRoi(const RoiForm& form, T low, T high, int64_t bins, int64_t size) {
  T pad = 0;
  if (form.pad_ratio > 0) {
    // The conversion prevents a fused multiply-add, so that all devices compute the same corners.
    const double product =
        static_cast<double>(high - low + 1) * static_cast<double>(form.pad_ratio);
    pad = static_cast<T>(product);
  }
  return {low - pad, high + pad, static_cast<T>(form.scale), bins, size, form.samples};
}

// Returns the spans of a region along the height.
template <class Spans, class T>
DOPPIO_HD Spans RowsOfRoi(const RoiForm& form, const T* roi) {
  return Spans(AxisOfRoi(form, roi[2], roi[4], form.bins_h, form.height));
}
// Returns the spans of a region along the width.
template <class Spans, class T>
DOPPIO_HD Spans ColumnsOfRoi(const RoiForm& form, const T* roi) {
  return Spans(AxisOfRoi(form, roi[1], roi[3], form.bins_w, form.width));
}

// Splits index n of an element of the top into region, channel, row i and column j.
struct RoiElement {
  int64_t roi, channel, i, j;
  DOPPIO_HD RoiElement(const RoiForm& form, int64_t n)
      : roi(n / form.bins() / form.top_channels),
        channel(n / form.bins() % form.top_channels),
        i(n / form.bins_w % form.bins_h),
        j(n % form.bins_w) {}
};

// Returns the plane of the bottom that a bin reads, or null if its region names no image of the
// batch. With own_channels, bin (i, j) of top channel c reads channel (c * bins_h + i) * bins_w +
// j.
template <class T>
DOPPIO_HD const T* PlaneOfBin(const RoiForm& form, const RoiElement& e, const T* x, const T* rois) {
  const int64_t image = ImageOfRoi(form, rois + kRoiNumbers * e.roi);
  if (image < 0) return nullptr;
  const int64_t channel =
      form.own_channels ? (e.channel * form.bins_h + e.i) * form.bins_w + e.j : e.channel;
  return x + (image * form.channels + channel) * form.plane();
}

// Writes the largest value of each bin to y, or 0 for an empty bin. `from`, which may be null,
// receives the position of this value in its plane, or -1 for an empty bin; among equal values the
// first wins. If a region names no image of the batch, writes NaN and sets *bad to 1.
template <class T>
struct RoiMax {
  RoiForm form;
  const T *x, *rois;
  T* y;
  int32_t* from;
  uint32_t* bad;

  DOPPIO_HD void operator()(int64_t n) const {
    const RoiElement e(form, n);
    const T* roi = rois + kRoiNumbers * e.roi;
    const T* plane = PlaneOfBin(form, e, x, rois);
    int64_t at = -1;
    T most = 0;
    if (plane == nullptr) {
      *bad = 1;
      most = static_cast<T>(NAN);
    } else {
      const RoiSpan rows = RowsOfRoi<MaxSpans>(form, roi).Bin(e.i);
      const RoiSpan columns = ColumnsOfRoi<MaxSpans>(form, roi).Bin(e.j);
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          const T value = plane[h * form.width + w];
          if (at >= 0 && !(value > most)) continue;
          at = h * form.width + w;
          most = value;
        }
      }
    }
    y[n] = most;
    if (from != nullptr) from[n] = static_cast<int32_t>(at);
  }
};

// Computes one element of the bottom's gradient: the sum of the gradients of the bins whose maximum
// it is.
template <class T>
struct RoiMaxGradient {
  RoiForm form;
  const T *rois, *dy;
  const int32_t* from;
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t w = n % form.width, h = n / form.width % form.height;
    const int64_t channel = n / form.plane() % form.channels,
                  image = n / form.plane() / form.channels;
    T sum = 0;
    for (int64_t r = 0; r < form.rois; ++r) {
      const T* roi = rois + kRoiNumbers * r;
      if (ImageOfRoi(form, roi) != image) continue;
      const RoiSpan rows = RowsOfRoi<MaxSpans>(form, roi).BinsOf(h);
      const RoiSpan columns = ColumnsOfRoi<MaxSpans>(form, roi).BinsOf(w);
      const int64_t first = (r * form.channels + channel) * form.bins();
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          const int64_t bin = first + i * form.bins_w + j;
          if (from[bin] == h * form.width + w) sum += dy[bin];
        }
      }
    }
    dx[n] = sum;
  }
};

// Computes plane n of the bottom's gradient, with the same results as RoiMaxGradient.
template <class T>
struct RoiMaxPlaneGradient {
  RoiForm form;
  const T *rois, *dy;
  const int32_t* from;
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    T* plane = dx + n * form.plane();
    for (int64_t k = 0; k < form.plane(); ++k) plane[k] = 0;
    const int64_t channel = n % form.channels, image = n / form.channels;
    for (int64_t r = 0; r < form.rois; ++r) {
      if (ImageOfRoi(form, rois + kRoiNumbers * r) != image) continue;
      const int64_t first = (r * form.channels + channel) * form.bins();
      for (int64_t bin = first; bin < first + form.bins(); ++bin) {
        if (from[bin] >= 0) plane[from[bin]] += dy[bin];
      }
    }
  }
};

// Writes the mean over each bin's window to y, or 0 for an empty bin. If a region names no image of
// the batch, writes NaN and sets *bad to 1.
template <class T>
struct PsRoiMean {
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
    const RoiSpan rows = RowsOfRoi<MeanSpans<T>>(form, roi).Bin(e.i);
    const RoiSpan columns = ColumnsOfRoi<MeanSpans<T>>(form, roi).Bin(e.j);
    T sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) sum += plane[h * form.width + w];
    }
    y[n] =
        rows.empty() || columns.empty() ? T(0) : sum / static_cast<T>(rows.size() * columns.size());
  }
};

// Computes one element of the bottom's gradient.
template <class T>
struct PsRoiMeanGradient {
  RoiForm form;
  const T *rois, *dy;
  const int32_t* from;  // not used
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t w = n % form.width, h = n / form.width % form.height;
    const int64_t channel = n / form.plane() % form.channels,
                  image = n / form.plane() / form.channels;
    // The bottom's channel is the index of (top channel, i, j) in row-major order.
    const int64_t i = channel / form.bins_w % form.bins_h, j = channel % form.bins_w;
    T sum = 0;
    for (int64_t r = 0; r < form.rois; ++r) {
      const T* roi = rois + kRoiNumbers * r;
      if (ImageOfRoi(form, roi) != image) continue;
      const RoiSpan rows = RowsOfRoi<MeanSpans<T>>(form, roi).Bin(i);
      const RoiSpan columns = ColumnsOfRoi<MeanSpans<T>>(form, roi).Bin(j);
      if (!rows.has(h) || !columns.has(w)) continue;
      sum += dy[r * form.channels + channel] / static_cast<T>(rows.size() * columns.size());
    }
    dx[n] = sum;
  }
};

// Computes plane n of the bottom's gradient, with the same results as PsRoiMeanGradient.
template <class T>
struct PsRoiMeanPlaneGradient {
  RoiForm form;
  const T *rois, *dy;
  const int32_t* from;  // not used
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    T* plane = dx + n * form.plane();
    for (int64_t k = 0; k < form.plane(); ++k) plane[k] = 0;
    const int64_t channel = n % form.channels, image = n / form.channels;
    const int64_t i = channel / form.bins_w % form.bins_h, j = channel % form.bins_w;
    for (int64_t r = 0; r < form.rois; ++r) {
      const T* roi = rois + kRoiNumbers * r;
      if (ImageOfRoi(form, roi) != image) continue;
      const RoiSpan rows = RowsOfRoi<MeanSpans<T>>(form, roi).Bin(i);
      const RoiSpan columns = ColumnsOfRoi<MeanSpans<T>>(form, roi).Bin(j);
      const T share =
          dy[r * form.channels + channel] / static_cast<T>(rows.size() * columns.size());
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        for (int64_t w = columns.begin; w < columns.end; ++w) plane[h * form.width + w] += share;
      }
    }
  }
};

// The functors of a layer, which the kernels construct alike for each layer. kKeepsPositions is
// true if they use `from`; kName is the layer's name.
template <class T>
struct MaxOfRois {
  using Forward = RoiMax<T>;
  using Gradient = RoiMaxGradient<T>;
  using PlaneGradient = RoiMaxPlaneGradient<T>;
  static constexpr char kName[] = "ROIPooling";
  static constexpr bool kKeepsPositions = true;
};
template <class T>
struct MeanOfRois {
  using Forward = PsRoiMean<T>;
  using Gradient = PsRoiMeanGradient<T>;
  using PlaneGradient = PsRoiMeanPlaneGradient<T>;
  static constexpr char kName[] = "PSROIPooling";
  static constexpr bool kKeepsPositions = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_POOLING_OPS_H_
