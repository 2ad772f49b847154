// The text of a layer's message with drawn fields, for the rows of layer types
// (tests/random/layer_row.h).
#ifndef DOPPIO_TESTS_LAYERS_COMMON_DRAWN_MESSAGE_H_
#define DOPPIO_TESTS_LAYERS_COMMON_DRAWN_MESSAGE_H_

#include <sstream>
#include <string>
#include <vector>

#include "tests/random/net_draft.h"

namespace doppio {

// The values of an `engine` of Caffe, and those with the ones that forks add.
inline const std::vector<std::string>& CaffeEngines() {
  static const std::vector<std::string> engines = {"DEFAULT", "CAFFE", "CUDNN"};
  return engines;
}
inline const std::vector<std::string>& ForkEngines() {
  static const std::vector<std::string> engines = {"DEFAULT", "CAFFE", "CUDNN", "MKL2017",
                                                   "MKLDNN"};
  return engines;
}

// Functions whose names begin with Maybe leave the field unset in about half of the draws. The
// draft must outlive this object.
class DrawnMessage {
 public:
  explicit DrawnMessage(NetDraft* draft) : draft_(draft), draw_(&draft->draw()) {}

  // Sets a field to a number, a bool, or a value given as text.
  template <class T>
  DrawnMessage& Set(const std::string& field, const T& value) {
    std::ostringstream text;
    text << std::boolalpha << field << ": " << value;
    return Add(text.str());
  }
  // Appends the text of fields.
  DrawnMessage& Add(const std::string& fields) {
    text_ += fields + " ";
    return *this;
  }

  // Sets a field to one of `values`.
  DrawnMessage& Maybe(const std::string& field, const std::vector<std::string>& values) {
    return draw_->Chance(0.5) ? Set(field, draw_->Of(values)) : *this;
  }
  DrawnMessage& MaybeBool(const std::string& field) { return Maybe(field, {"false", "true"}); }
  // Sets a field to a number in [low, high).
  DrawnMessage& MaybeReal(const std::string& field, double low, double high) {
    return draw_->Chance(0.5) ? Set(field, draw_->Real(low, high)) : *this;
  }
  // Sets a filler of weights or offsets; see NetDraft::Filler.
  DrawnMessage& MaybeFiller(const std::string& field, double size = 0.3) {
    return draw_->Chance(0.5) ? Add(draft_->Filler(field, size)) : *this;
  }
  DrawnMessage& MaybeFactors(const std::string& field, double middle) {
    return draw_->Chance(0.5) ? Factors(field, middle) : *this;
  }

  // Sets a filler whose values are near `middle`, for factors and slopes, which must not be near 0.
  DrawnMessage& Factors(const std::string& field, double middle) {
    DrawnMessage filler(draft_);
    switch (draw_->Int(0, 2)) {
      case 0:
        filler.Set("type", "'uniform'").Set("min", middle / 2).Set("max", middle * 1.5);
        break;
      case 1:
        filler.Set("type", "'gaussian'").Set("mean", middle).Set("std", middle / 5);
        break;
      default:
        filler.Maybe("type", {"'constant'"}).Set("value", middle * draw_->Real(0.8, 1.2));
    }
    return Add(filler.In(field));
  }

  // Sets the axis of a blob with `rank` axes, counted from the front or from the end. Sometimes
  // leaves it unset if it is `unset`. Always counts the first axis from the front, so that only a
  // value of 0 means the first axis (LayerRow::traits_of).
  DrawnMessage& Axis(const std::string& field, int axis, int rank, int unset) {
    if (axis == unset && draw_->Chance(0.5)) return *this;
    return Set(field, axis > 0 && draw_->Chance(0.4) ? axis - rank : axis);
  }

  // Returns the fields that are set.
  const std::string& fields() const { return text_; }
  // Returns the message, or "" if no field is set.
  std::string In(const std::string& message) const {
    return text_.empty() ? "" : message + " { " + text_ + "} ";
  }

 private:
  NetDraft* draft_;
  Draw* draw_;
  std::string text_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_DRAWN_MESSAGE_H_
