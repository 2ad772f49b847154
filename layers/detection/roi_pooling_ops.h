// ROIPooling and PSROIPooling, the same on every device: the window of a bin, and functions of an
// element of the top, of an element of the bottom (gradients as sums in a fixed order, for many
// threads) or of a plane of the bottom (the same sums, for few). Sources: R. Girshick, "Fast
// R-CNN", 2015, section 2.1; J. Dai et al., "R-FCN", 2016, equation 1.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_POOLING_OPS_H_
#define DOPPIO_LAYERS_DETECTION_ROI_POOLING_OPS_H_

#include <cmath>
#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

struct RoiForm {
  int64_t images = 0, channels = 0, height = 1, width = 1;  // the bottom
  int64_t rois = 0, top_channels = 0, bins_h = 1, bins_w = 1;
  float scale = 1;  // pixels of the bottom for each pixel of the image

  DOPPIO_HD int64_t plane() const { return height * width; }
  DOPPIO_HD int64_t bottom_count() const { return images * channels * plane(); }
  DOPPIO_HD int64_t bins() const { return bins_h * bins_w; }
  DOPPIO_HD int64_t top_count() const { return rois * top_channels * bins(); }
};

// A row of the regions: image of the batch, then the corners in pixels of the image, both inside.
constexpr int64_t kRoiNumbers = 5;

// -1 where the row names no image of the batch.
template <class T>
DOPPIO_HD int64_t ImageOfRoi(const RoiForm& form, const T* roi) {
  // Also false for NaN.
  return roi[0] >= 0 && roi[0] < static_cast<T>(form.images) ? static_cast<int64_t>(roi[0]) : -1;
}

// Positions [begin, end) along an axis.
struct RoiSpan {
  int64_t begin = 0, end = 0;
  DOPPIO_HD bool empty() const { return end <= begin; }
  DOPPIO_HD int64_t size() const { return end - begin; }
  DOPPIO_HD bool has(int64_t i) const { return begin <= i && i < end; }
};

DOPPIO_HD inline int64_t CutToAxis(int64_t i, int64_t size) {
  return i < 0 ? 0 : i > size ? size : i;
}

// Rounded half away from zero, and within what a position may be; 0 for NaN.
DOPPIO_HD inline float RoundedPixel(float pixel) {
  const float limit = 1e6f;
  if (!(pixel > -limit)) return pixel <= -limit ? -limit : 0;
  return pixel < limit ? roundf(pixel) : limit;
}

// ROIPooling's region along an axis, in whole pixels of the bottom, cut into `bins` windows that
// may share pixels.
struct MaxSpans {
  int64_t start = 0, pixels = 1, bins = 1, size = 1;

  DOPPIO_HD MaxSpans(float low, float high, float scale, int64_t bins, int64_t size)
      : bins(bins), size(size) {
    start = static_cast<int64_t>(RoundedPixel(low * scale));
    const int64_t last = static_cast<int64_t>(RoundedPixel(high * scale));
    pixels = last < start ? 1 : last - start + 1;
  }
  DOPPIO_HD RoiSpan Bin(int64_t i) const {
    return {CutToAxis(start + i * pixels / bins, size),
            CutToAxis(start + ((i + 1) * pixels + bins - 1) / bins, size)};
  }
  // The bins that see position `at` of the bottom.
  DOPPIO_HD RoiSpan BinsOf(int64_t at) const {
    const int64_t inside = at - start;
    if (inside < 0 || inside >= pixels) return {0, 0};
    const int64_t last = ((inside + 1) * bins - 1) / pixels;
    return {inside * bins / pixels, (last < bins - 1 ? last : bins - 1) + 1};
  }
};

// PSROIPooling's: cut in fractions of a pixel, and then rounded outwards. Products and sums
// alternate such that no device can fuse them, because a window must be the same on all.
struct MeanSpans {
  float start = 0, pixels = 1, scale = 1;  // pixels of the image
  int64_t bins = 1, size = 1;

  DOPPIO_HD MeanSpans(float low, float high, float scale, int64_t bins, int64_t size)
      : scale(scale), bins(bins), size(size) {
    start = RoundedPixel(low);
    const float least = 0.1f / scale;
    pixels = RoundedPixel(high) + 1 - start;
    if (pixels < least) pixels = least;
  }
  DOPPIO_HD RoiSpan Bin(int64_t i) const {
    return {CutToAxis(static_cast<int64_t>(floorf(Edge(i))), size),
            CutToAxis(static_cast<int64_t>(ceilf(Edge(i + 1))), size)};
  }

 private:
  DOPPIO_HD float Edge(int64_t i) const {
    return (static_cast<float>(i) * pixels / static_cast<float>(bins) + start) * scale;
  }
};

template <class Spans, class T>
DOPPIO_HD Spans RowsOfRoi(const RoiForm& form, const T* roi) {
  return Spans(static_cast<float>(roi[2]), static_cast<float>(roi[4]), form.scale, form.bins_h,
               form.height);
}
template <class Spans, class T>
DOPPIO_HD Spans ColumnsOfRoi(const RoiForm& form, const T* roi) {
  return Spans(static_cast<float>(roi[1]), static_cast<float>(roi[3]), form.scale, form.bins_w,
               form.width);
}

// An element of the top, taken apart.
struct RoiElement {
  int64_t roi, channel, i, j;
  DOPPIO_HD RoiElement(const RoiForm& form, int64_t n)
      : roi(n / form.bins() / form.top_channels),
        channel(n / form.bins() % form.top_channels),
        i(n / form.bins_w % form.bins_h),
        j(n % form.bins_w) {}
};

// The largest value of each bin, the first of equal ones; 0 where the bin is empty. `from`, which
// may be null, gets where in its plane it was, or -1. A region of no image gives NaN and sets *bad.
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
    const int64_t image = ImageOfRoi(form, roi);
    int64_t at = -1;
    T most = 0;
    if (image < 0) {
      *bad = 1;
      most = static_cast<T>(NAN);
    } else {
      const RoiSpan rows = RowsOfRoi<MaxSpans>(form, roi).Bin(e.i);
      const RoiSpan columns = ColumnsOfRoi<MaxSpans>(form, roi).Bin(e.j);
      const T* plane = x + (image * form.channels + e.channel) * form.plane();
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

// An element of the bottom gets the gradients of the bins that took it.
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

// Position-sensitive: bin (i, j) of top channel c is the mean over its window of a channel of its
// own, (c * bins_h + i) * bins_w + j; 0 where the bin is empty.
template <class T>
struct PsRoiMean {
  RoiForm form;
  const T *x, *rois;
  T* y;
  uint32_t* bad;

  DOPPIO_HD void operator()(int64_t n) const {
    const RoiElement e(form, n);
    const T* roi = rois + kRoiNumbers * e.roi;
    const int64_t image = ImageOfRoi(form, roi);
    if (image < 0) {
      *bad = 1;
      y[n] = static_cast<T>(NAN);
      return;
    }
    const RoiSpan rows = RowsOfRoi<MeanSpans>(form, roi).Bin(e.i);
    const RoiSpan columns = ColumnsOfRoi<MeanSpans>(form, roi).Bin(e.j);
    const int64_t channel = (e.channel * form.bins_h + e.i) * form.bins_w + e.j;
    const T* plane = x + (image * form.channels + channel) * form.plane();
    T sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) sum += plane[h * form.width + w];
    }
    y[n] =
        rows.empty() || columns.empty() ? T(0) : sum / static_cast<T>(rows.size() * columns.size());
  }
};

template <class T>
struct PsRoiMeanGradient {
  RoiForm form;
  const T *rois, *dy;
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    const int64_t w = n % form.width, h = n / form.width % form.height;
    const int64_t channel = n / form.plane() % form.channels,
                  image = n / form.plane() / form.channels;
    // The top's channel and bin in one: they follow each other as the bottom's channels do.
    const int64_t i = channel / form.bins_w % form.bins_h, j = channel % form.bins_w;
    T sum = 0;
    for (int64_t r = 0; r < form.rois; ++r) {
      const T* roi = rois + kRoiNumbers * r;
      if (ImageOfRoi(form, roi) != image) continue;
      const RoiSpan rows = RowsOfRoi<MeanSpans>(form, roi).Bin(i);
      const RoiSpan columns = ColumnsOfRoi<MeanSpans>(form, roi).Bin(j);
      if (!rows.has(h) || !columns.has(w)) continue;
      sum += dy[r * form.channels + channel] / static_cast<T>(rows.size() * columns.size());
    }
    dx[n] = sum;
  }
};

template <class T>
struct PsRoiMeanPlaneGradient {
  RoiForm form;
  const T *rois, *dy;
  T* dx;

  DOPPIO_HD void operator()(int64_t n) const {
    T* plane = dx + n * form.plane();
    for (int64_t k = 0; k < form.plane(); ++k) plane[k] = 0;
    const int64_t channel = n % form.channels, image = n / form.channels;
    const int64_t i = channel / form.bins_w % form.bins_h, j = channel % form.bins_w;
    for (int64_t r = 0; r < form.rois; ++r) {
      const T* roi = rois + kRoiNumbers * r;
      if (ImageOfRoi(form, roi) != image) continue;
      const RoiSpan rows = RowsOfRoi<MeanSpans>(form, roi).Bin(i);
      const RoiSpan columns = ColumnsOfRoi<MeanSpans>(form, roi).Bin(j);
      const T share =
          dy[r * form.channels + channel] / static_cast<T>(rows.size() * columns.size());
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        for (int64_t w = columns.begin; w < columns.end; ++w) plane[h * form.width + w] += share;
      }
    }
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_POOLING_OPS_H_
