#include "python/shown_samples.h"

#include "core/base/random.h"

namespace doppio {
namespace py = pybind11;

void ShownSamples::Join(const GroupRule& rule) {
  if (rule.count > 0) order_.emplace(rule, rule.count, seed_);
  usable_ = rule.usable;
}

void ShownSamples::ShowTo(const py::object& layer, int64_t sample) const {
  const ShownSamples copy = *this;  // the layer may keep the functions
  const py::cpp_function record([copy, sample](int64_t row) {
    const int64_t asked = sample + row;
    const int64_t record = copy.order_ ? copy.order_->Record(asked) : asked;
    return copy.usable_ ? copy.usable_(record) : record;
  });
  const py::cpp_function draw(
      [random = Random(seed_, Stream("python"))](uint64_t key, uint64_t number) {
        return random.Uniform(key, number);
      });
  layer.attr("_samples") = py::make_tuple(sample, order_ ? order_->Epoch(sample) : 0, record, draw);
}

}  // namespace doppio
