// Reads class labels for the layers that compare predictions with labels. Labels are stored as
// floating-point numbers. Like Caffe, Doppio truncates them to integers (0.9 becomes 0) before any
// comparison, also with ignore_label. A label outside of the classes is an error; release builds of
// Caffe silently train on it.
#ifndef DOPPIO_LAYERS_COMMON_LABELS_H_
#define DOPPIO_LAYERS_COMMON_LABELS_H_

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "core/base/error.h"
#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// Results of LabelReader::Class that are not classes.
constexpr int32_t kIgnoredLabel = -1;
constexpr int32_t kWrongLabel = -2;

class LabelReader {
 public:
  // Labels of `classes` classes. `param`, a loss_param or accuracy_param, has an optional
  // ignore_label.
  template <class Param>
  LabelReader(const Param& param, int64_t classes)
      : has_ignore_(param.has_ignore_label()), ignore_(param.ignore_label()), classes_(classes) {}
  // For layers that have no ignore_label.
  explicit LabelReader(int64_t classes)
      : has_ignore_(false), may_ignore_(false), ignore_(0), classes_(classes) {}

  // Returns true if there is an ignore_label.
  bool ignores() const { return has_ignore_; }
  // Returns the class of a label, kIgnoredLabel or kWrongLabel.
  template <class T>
  DOPPIO_HD int32_t Class(T label) const {
    const T cut = std::trunc(label);
    if (has_ignore_ && cut == static_cast<T>(ignore_)) return kIgnoredLabel;
    // The condition is also false for NaN.
    return cut >= 0 && cut < static_cast<T>(classes_) ? static_cast<int32_t>(cut) : kWrongLabel;
  }

  // Writes the classes of `outer` samples with `inner` positions each to `out`. Returns the number
  // of labels that are not ignored. Throws UserError with `at`, the layer's location, for the first
  // label that is neither a class nor ignored.
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

  // Throws the UserError for the wrong label with index `index`, among samples of `inner` positions
  // each.
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

#endif  // DOPPIO_LAYERS_COMMON_LABELS_H_
