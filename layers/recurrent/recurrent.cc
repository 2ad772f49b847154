// RNN, LSTM and LSTMUnit: shape inference and CPU kernels. recurrent_form.h describes RNN and LSTM.
#include <algorithm>
#include <cstring>

#include "core/math/blas.h"
#include "core/net/contract/layer.h"
#include "core/net/contract/combinations.h"
#include "layers/common/host_loops.h"
#include "layers/common/row_copies.h"
#include "layers/recurrent/lstm_unit_kernel.h"
#include "layers/recurrent/recurrent_kernel.h"

namespace doppio {
namespace {

// Throws UserError unless `right` is true and the bottom is not empty. `what` describes the right
// shape.
void Expect(bool right, const LayerSpec& spec, const std::vector<Shape>& bottoms, size_t bottom,
            const std::string& what) {
  spec.RefuseIf(!(right && bottoms[bottom].count() > 0), {"bottom", static_cast<int>(bottom)},
                "bottom ", bottom, " has shape ", bottoms[bottom].ToString(), "; ", what);
}

// Throws UserError for a wrong number of bottoms or tops.
void CheckCounts(const LayerSpec& spec, size_t bottoms, int states) {
  const bool exposed = spec.param.recurrent_param().expose_hidden();
  const int given = exposed ? states : 0, least = 2 + given, tops = 1 + given;
  const std::string why = exposed ? " with expose_hidden" : " without expose_hidden";
  spec.RefuseIf(static_cast<int>(bottoms) < least || static_cast<int>(bottoms) > least + 1,
                "bottom", spec.type(), why, " takes x, cont, optionally a static input",
                exposed ? ", and " + std::to_string(states) + " initial state(s)" : "", ": ", least,
                " or ", least + 1, " bottoms, got ", bottoms);
  spec.RefuseIf(spec.param.top_size() != tops, "top", spec.type(), why, " makes ", tops,
                " top(s), got ", spec.param.top_size());
}

// Returns the form. The shapes of the bottoms need not have been checked.
RecurrentForm ReadRecurrent(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const RecurrentParameter& p = spec.param.recurrent_param();
  spec.RefuseIf(p.num_output() == 0 || p.num_output() > INT32_MAX / 4, "recurrent_param.num_output",
                "num_output must be positive, found ", p.num_output());
  RecurrentForm form;
  form.lstm = spec.type() == "LSTM";
  form.exposed = p.expose_hidden();
  form.hidden = p.num_output();
  form.gates = (form.lstm ? 4 : 1) * form.hidden;
  form.steps = bottoms[0].dim_or_1(0);
  form.streams = bottoms[0].dim_or_1(1);
  form.inputs = bottoms[0].count(std::min(2, bottoms[0].rank()));
  form.states = form.lstm ? 2 : 1;
  const size_t others = 2 + static_cast<size_t>(form.exposed ? form.states : 0);
  form.has_static = bottoms.size() > others;
  if (form.has_static) form.static_inputs = bottoms[2].count(std::min(1, bottoms[2].rank()));
  form.first_state = form.has_static ? 3 : 2;
  return form;
}

// Throws UserError for bottoms of a wrong number or shape. `state` is the shape of a state.
void CheckRecurrentBottoms(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                           const RecurrentForm& form, const Shape& state) {
  CheckCounts(spec, bottoms.size(), form.states);
  Expect(bottoms[0].rank() >= 2, spec, bottoms, 0, "time steps x streams x ... is needed");
  const Shape cont{form.steps, form.streams};
  Expect(bottoms[1] == cont, spec, bottoms, 1,
         "cont has one number for each time step and stream: " + cont.ToString());
  if (form.has_static) {
    Expect(bottoms[2].dim_or_1(0) == form.streams && bottoms[2].rank() > 0, spec, bottoms, 2,
           StrCat("the static input has one row for each of the ", form.streams, " streams"));
  }
  for (size_t i = form.first_state; form.exposed && i < bottoms.size(); ++i) {
    Expect(bottoms[i] == state, spec, bottoms, i,
           "an initial state is 1 x streams x num_output: " + state.ToString());
  }
}

LayerShape InferRecurrent(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const RecurrentParameter& p = spec.param.recurrent_param();
  const RecurrentForm form = ReadRecurrent(spec, bottoms);
  const Shape state{1, form.streams, form.hidden};
  CheckRecurrentBottoms(spec, bottoms, form, state);
  LayerShape shape;
  shape.form = form;
  if (!form.exposed) shape.features = {Feature::kState};
  shape.tops.push_back(Shape{form.steps, form.streams, form.hidden});
  if (form.exposed) shape.tops.resize(1 + static_cast<size_t>(form.states), state);
  shape.params = {{Shape{form.gates, form.inputs}, p.weight_filler()},
                  {Shape{form.gates}, p.bias_filler()}};
  if (form.has_static)
    shape.params.push_back({Shape{form.gates, form.static_inputs}, p.weight_filler()});
  shape.params.push_back({Shape{form.gates, form.hidden}, p.weight_filler()});
  if (!form.lstm) {
    shape.params.push_back({Shape{form.hidden, form.hidden}, p.weight_filler()});
    shape.params.push_back({Shape{form.hidden}, p.bias_filler()});
  }
  shape.no_gradient_bottoms = {false, true};
  shape.macs = Macs({form.rows(), form.gates, form.inputs + form.hidden}) +
               Macs({form.rows(), form.lstm ? 0 : form.hidden, form.hidden}) +
               Macs({form.streams, form.gates, form.static_inputs});
  return shape;
}

LayerShape InferUnit(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& cells = bottoms[0];
  spec.RefuseIf(cells.rank() != 3 || cells[0] != 1, "bottom",
                "the cells of LSTMUnit are 1 x streams x hidden, bottom '", spec.param.bottom(0),
                "' is ", cells.ToString());
  const Shape wanted[] = {cells, {1, cells[1], 4 * cells[2]}, {1, cells[1]}};
  for (int i = 1; i < 3; ++i) {
    const Shape& got = bottoms[i];
    spec.RefuseIf(got != wanted[i], {"bottom", i}, i == 1 ? "gates" : "sequence marks", " '",
                  spec.param.bottom(i), "' are ", got.ToString(), ", for cells of ",
                  cells.ToString(), " they are ", wanted[i].ToString());
  }
  LayerShape shape;
  shape.tops = {cells, cells};
  shape.no_gradient_bottoms = {false, false, true};
  return shape;
}

// Math on the CPU (recurrent_kernel.h).
struct HostMath : HostLoops {
  using HostLoops::HostLoops;

  template <class T>
  void Product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a, const T* b, bool add,
               T* c) const {
    Gemm(ta, tb, m, n, k, T(1), a, b, add ? T(1) : T(0), c);
  }

  static int64_t ColumnSumsBytes(int64_t, int64_t) { return 0; }
  template <class T>
  void ColumnSums(int64_t rows, int64_t columns, const T* x, bool add, T* to, void*) const {
    SumColumns(rows, columns, x, add, to);
  }

  void Copy(void* to, const void* from, int64_t bytes) const { std::memcpy(to, from, bytes); }
};

template <class T>
using Recurrent = RecurrentKernel<T, HostMath>;
template <class T>
using LstmUnit = LstmUnitKernel<T, HostMath>;

DOPPIO_REGISTER_LAYER("LSTM", LayerType(&InferRecurrent)
                                  .Bottoms(2, 5)
                                  .Tops(1, 3)
                                  .Reads({"recurrent_param"})
                                  .Params({}, [](const LayerParameter&) { return 3; }));
DOPPIO_REGISTER_LAYER("LSTMUnit", LayerType(&InferUnit).Bottoms(3).Tops(2));
DOPPIO_REGISTER_LAYER("RNN", LayerType(&InferRecurrent)
                                 .Bottoms(2, 4)
                                 .Tops(1, 2)
                                 .Reads({"recurrent_param"})
                                 .Params({}, [](const LayerParameter&) { return 5; }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Recurrent>("LSTM"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<LstmUnit>("LSTMUnit"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Recurrent>("RNN"));

}  // namespace
}  // namespace doppio
