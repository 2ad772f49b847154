// The text of a message's fields, while a row of tests/random/layer_row.h draws them.
//
//   DrawnFields fields(&draw);
//   fields.Set("kernel_size", 3).Maybe(0.2, "engine", draw.Of<std::string>({"CAFFE", "CUDNN"}));
//   fields.In("pooling_param")  // " pooling_param { kernel_size: 3 engine: CUDNN }"
#ifndef DOPPIO_TESTS_LAYERS_COMMON_DRAWN_FIELDS_H_
#define DOPPIO_TESTS_LAYERS_COMMON_DRAWN_FIELDS_H_

#include <algorithm>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/random/draw.h"

namespace doppio {

class DrawnFields {
 public:
  explicit DrawnFields(Draw* draw) : draw_(draw) {}

  // Adds a field. A string is written as it is, as the values of an enum need it.
  template <class T>
  DrawnFields& Set(const std::string& name, const T& value) {
    std::ostringstream text;
    text << name << ": " << std::boolalpha << value;
    return Add(text.str());
  }
  DrawnFields& SetText(const std::string& name, const std::string& value) {
    return Set(name, "\"" + value + "\"");
  }
  // Adds a field with probability `chance`.
  template <class T>
  DrawnFields& Maybe(double chance, const std::string& name, const T& value) {
    return draw_->Chance(chance) ? Set(name, value) : *this;
  }
  DrawnFields& MaybeText(double chance, const std::string& name, const std::string& value) {
    return draw_->Chance(chance) ? SetText(name, value) : *this;
  }
  // Adds a field of type bool, whose value is drawn as well, with probability `chance`.
  DrawnFields& MaybeBool(double chance, const std::string& name) {
    return Maybe(chance, name, draw_->Chance(0.5));
  }
  // Adds an enum's field, whose value is one of `names`, with probability `chance`.
  DrawnFields& MaybeOneOf(double chance, const std::string& name,
                          const std::vector<std::string>& names) {
    return Maybe(chance, name, draw_->Of(names));
  }
  DrawnFields& Add(const std::string& text) {
    text_ += " " + text;
    return *this;
  }

  // Adds the extents `values` along the spatial axes in one of the ways of Caffe: "name: 3" if all
  // are equal; "pair_h: 3 pair_w: 5" for two axes; "name: 3 name: 5". The last way needs a
  // repeated field, the second one needs `pair`. An unset field means `unset`.
  DrawnFields& SetExtents(const std::string& name, const std::string& pair,
                          const std::vector<int64_t>& values, int64_t unset, bool repeated) {
    if (values.empty()) return *this;
    const bool equal =
        std::count(values.begin(), values.end(), values[0]) == static_cast<int64_t>(values.size());
    if (equal && values[0] == unset && draw_->Chance(0.7)) return *this;
    const bool paired = !pair.empty() && values.size() == 2;
    if (paired && ((!equal && !repeated) || draw_->Chance(0.4))) {
      if (values[0] != unset || draw_->Chance(0.5)) Set(pair + "_h", values[0]);
      if (values[1] != unset || draw_->Chance(0.5)) Set(pair + "_w", values[1]);
      return *this;
    }
    for (const int64_t value : equal ? std::vector<int64_t>{values[0]} : values) Set(name, value);
    return *this;
  }

  // Returns the message `name` with the fields.
  std::string In(const std::string& name) const { return " " + name + " {" + text_ + " }"; }
  const std::string& text() const { return text_; }

 private:
  Draw* draw_;
  std::string text_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_DRAWN_FIELDS_H_
