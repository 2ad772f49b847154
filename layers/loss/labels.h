// Class labels as the layers that compare predictions with them read them. Labels travel as numbers
// like all other data; Caffe cuts them to an integer (0.9 counts as 0) before it compares, with
// ignore_label too, and so do we. Labels outside the classes, which Caffe trains on silently in
// release builds, are an error here.
#ifndef DOPPIO_LAYERS_LOSS_LABELS_H_
#define DOPPIO_LAYERS_LOSS_LABELS_H_

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "core/base/error.h"
#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

constexpr int32_t kIgnoredLabel = -1;
constexpr int32_t kWrongLabel = -2;

class LabelReader {
 public:
  // `param` has an optional ignore_label: loss_param or accuracy_param.
  template <class Param>
  LabelReader(const Param& param, int64_t classes)
      : has_ignore_(param.has_ignore_label()), ignore_(param.ignore_label()), classes_(classes) {}
  // For layers that take no ignore_label.
  explicit LabelReader(int64_t classes)
      : has_ignore_(false), may_ignore_(false), ignore_(0), classes_(classes) {}

  bool ignores() const { return has_ignore_; }
  // The class that a label means, or one of the two above.
  template <class T>
  DOPPIO_HD int32_t Class(T label) const {
    const T cut = std::trunc(label);
    if (has_ignore_ && cut == static_cast<T>(ignore_)) return kIgnoredLabel;
    // Also false for NaN.
    return cut >= 0 && cut < static_cast<T>(classes_) ? static_cast<int32_t>(cut) : kWrongLabel;
  }

  // Cuts the labels of `outer` samples with `inner` positions each. Throws at `at`, the layer's
  // place, for the first one that is neither a class nor ignored. Returns how many are not ignored.
  template <class T>
  int64_t Read(const SourceLoc& at, const T* labels, int64_t outer, int64_t inner,
               int32_t* out) const {
    int64_t valid = 0;
    for (int64_t i = 0; i < outer * inner; ++i) {
      out[i] = Class(labels[i]);
      if (out[i] == kWrongLabel) Fail(at, static_cast<double>(labels[i]), i, inner);
      if (out[i] != kIgnoredLabel) ++valid;
    }
    return valid;
  }

  // Label number `index` is wrong.
  [[noreturn]] void Fail(const SourceLoc& at, double label, int64_t index, int64_t inner) const {
    std::ostringstream text;
    text << "label " << label << " at sample " << index / inner;
    if (inner > 1) text << ", position " << index % inner << ",";
    text << " is outside 0.." << classes_ - 1 << ": the prediction has " << classes_
         << " classes; correct the labels or the number of outputs";
    if (may_ignore_ && !has_ignore_) text << ", or leave such labels out with ignore_label";
    throw UserError(at, text.str());
  }

 private:
  bool has_ignore_;
  bool may_ignore_ = true;
  int ignore_;
  int64_t classes_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABELS_H_
