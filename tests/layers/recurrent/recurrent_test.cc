// Tests RNN and LSTM.
#include <gtest/gtest.h>

#include <cmath>

#include "core/net/contract/carried_state.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

LayerCase Recurrent(const std::string& type, int hidden, const std::string& more = "") {
  return LayerCase("type: '" + type + "' recurrent_param { num_output: " + std::to_string(hidden) +
                   " " + more + " }");
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Returns the dot product of row `row` of the matrix `weights` and x.
double Dot(const Values& weights, size_t row, const Values& x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += weights[row * x.size() + i] * x[i];
  return sum;
}

// A reference implementation of one stream, one step per call. The members wx to bo are the layer's
// weights (there is no static input), h and c its state.
struct OneStream {
  Values wx, b, wh, wo, bo;
  Values h, c;

  Values Lstm(const Values& x, double cont) {
    const size_t d = h.size();
    for (double& v : h) v *= cont;
    Values gates(4 * d), next(d);
    for (size_t g = 0; g < 4 * d; ++g) gates[g] = Dot(wx, g, x) + Dot(wh, g, h) + b[g];
    for (size_t j = 0; j < d; ++j) {
      c[j] = cont * c[j] * Sigmoid(gates[d + j]) + Sigmoid(gates[j]) * std::tanh(gates[3 * d + j]);
      next[j] = Sigmoid(gates[2 * d + j]) * std::tanh(c[j]);
    }
    return h = next;
  }

  Values Rnn(const Values& x, double cont) {
    const size_t d = h.size();
    for (double& v : h) v *= cont;
    Values next(d), out(d);
    for (size_t j = 0; j < d; ++j) next[j] = std::tanh(Dot(wx, j, x) + Dot(wh, j, h) + b[j]);
    h = next;
    for (size_t j = 0; j < d; ++j) out[j] = std::tanh(Dot(wo, j, h) + bo[j]);
    return out;
  }
};

Values Counting(size_t count, double first, double step) {
  Values values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(std::sin(first + step * static_cast<double>(i)));
  return values;
}

// Two streams of 2 numbers over 3 steps; stream 1 begins a new sequence at step 1.
const Values kX = Counting(12, 0.3, 1.1);
const Values kCont = {0, 1, 1, 0, 1, 1};

Values ByFormulas(const std::string& type, const OneStream& start) {
  Values tops(18);
  for (size_t n = 0; n < 2; ++n) {
    OneStream stream = start;
    for (size_t t = 0; t < 3; ++t) {
      const size_t at = 2 * t + n;
      const Values x = {kX[2 * at], kX[2 * at + 1]};
      const Values y = type == "LSTM" ? stream.Lstm(x, kCont[at]) : stream.Rnn(x, kCont[at]);
      for (size_t d = 0; d < 3; ++d) tops[3 * at + d] = y[d];
    }
  }
  return tops;
}

TEST(Lstm, ComputesItsFormulasWithGatesInCaffesOrder) {
  OneStream s{Counting(24, 0, 0.7),
              Counting(12, 2, 0.9),
              Counting(36, 1, 0.6),
              {},
              {},
              Values(3),
              Values(3)};
  Recurrent("LSTM", 3)
      .Bottom({3, 2, 2}, kX)
      .Bottom({3, 2}, kCont)
      .Param(0, s.wx)
      .Param(1, s.b)
      .Param(2, s.wh)
      .ExpectTop({3, 2, 3}, ByFormulas("LSTM", s));
}

TEST(Rnn, ComputesItsFormulasWithBlobsInCaffesOrder) {
  OneStream s{Counting(6, 0, 0.7),
              Counting(3, 2, 0.9),
              Counting(9, 1, 0.6),
              Counting(9, 3, 0.8),
              Counting(3, 4, 0.5),
              Values(3),
              {}};
  Recurrent("RNN", 3)
      .Bottom({3, 2, 2}, kX)
      .Bottom({3, 2}, kCont)
      .Param(0, s.wx)
      .Param(1, s.b)
      .Param(2, s.wh)
      .Param(3, s.wo)
      .Param(4, s.bo)
      .ExpectTop({3, 2, 3}, ByFormulas("RNN", s));
}

TEST(Recurrent, AddsAStaticInputToEveryStep) {
  // With W_xc = W_xc_static, a static input is the same as one added to x.
  for (const char* type : {"LSTM", "RNN"}) {
    const size_t gates = type[0] == 'L' ? 8 : 2;
    const Values w = Counting(3 * gates, 1, 0.4), b(gates, 0.1), wh = Counting(2 * gates, 2, 0.3);
    const Values x = Counting(12, 0, 1), still = Counting(6, 5, 2);
    Values both = x;
    for (size_t i = 0; i < both.size(); ++i) both[i] += still[i % 6];
    LayerCase apart = Recurrent(type, 2), together = Recurrent(type, 2);
    apart.Bottom({2, 2, 3}, x).Bottom({2, 2}, {1, 1, 1, 1}).Bottom({2, 3}, still);
    together.Bottom({2, 2, 3}, both).Bottom({2, 2}, {1, 1, 1, 1});
    apart.Param(0, w).Param(1, b).Param(2, w).Param(3, wh);
    together.Param(0, w).Param(1, b).Param(2, wh);
    if (type[0] == 'R') {
      apart.Param(4, {1, 2, 3, 4}).Param(5, {0.5, 0});
      together.Param(3, {1, 2, 3, 4}).Param(4, {0.5, 0});
    }
    apart.ExpectTop({2, 2, 2}, together.Top());
  }
}

TEST_ON_DEVICES(Recurrent, AgreesWithDifferencesAndOnEveryDevice) {
  for (const char* type : {"LSTM", "RNN"}) {
    for (bool with_static : {false, true}) {
      LayerCase c = Recurrent(type, 3);
      // A cont of 0.5 marks no sequence boundary, but the layer has a derivative there.
      c.RandomBottom({4, 2, 3, 2}).Bottom({4, 2}, {1, 0, 1, 1, 0, 0.5, 1, 1});
      if (with_static) c.RandomBottom({2, 5});
      c.ExpectGradient().ExpectBackendsAgree();
      EXPECT_TRUE(c.BottomGradient(1).empty()) << "cont has no gradient";
      c.ExpectGpuKernel();
    }
  }
}

TEST_ON_DEVICES(Recurrent, HasGradientsThroughExposedStates) {
  for (bool with_static : {false, true}) {
    for (const char* type : {"LSTM", "RNN"}) {
      LayerCase c = Recurrent(type, 3, "expose_hidden: true");
      c.RandomBottom({2, 2, 4}).Bottom({2, 2}, {1, 0, 1, 1});
      if (with_static) c.RandomBottom({2, 1});
      const int states = type[0] == 'L' ? 2 : 1;
      for (int i = 0; i < states; ++i) c.RandomBottom({1, 2, 3});
      c.Tops(1 + states).ExpectGradient().ExpectBackendsAgree();
      for (int i = 1; i <= states; ++i) c.ExpectTopShape({1, 2, 3}, i);
    }
  }
}

TEST(Recurrent, LearnsFromTheLastStateAlone) {
  // No layer reads top 0.
  const std::string net =
      "layer { name: 'in' type: 'TestSource' top: 'x' top: 'cont' top: 'h0' input_param { shape { "
      "dim: 2 dim: 1 dim: 1 }"
      "  shape { dim: 2 dim: 1 } shape { dim: 1 dim: 1 dim: 1 } } }"
      "layer { name: 'layer' type: 'RNN' bottom: 'x' bottom: 'cont' bottom: 'h0' top: 'o' top: 'h'"
      "  recurrent_param { num_output: 1 expose_hidden: true }"
      "  propagate_down: [true, false, true] }"
      "layer { name: 'probe' type: 'TestProbe' bottom: 'h' top: 'probe' } layer { name: 'end' "
      "type: 'Silence' bottom: 'o' }";
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  PlanOptions options;
  options.device = cpu.get();
  options.dtype = DType::kFloat64;
  options.backward = true;
  ParamStore store(cpu.get(), options.dtype, 5);
  Net run(GraphFromText(net), options, &store);
  auto* source = dynamic_cast<TestSource*>(run.plan().kernel(0));
  source->values = {{0.5, -1}, {1, 1}, {0.25}};
  const Values weights[] = {{0.8}, {0.1}, {-0.6}, {3}, {4}};
  for (size_t i = 0; i < 5; ++i)
    WritePlain(weights[i],
               store.param(run.plan().param_index[run.graph().nodes[1].params[i]]).value);
  run.Forward();
  run.Backward(false);
  const double h1 = std::tanh(0.8 * 0.5 + 0.1 - 0.6 * 0.25), h2 = std::tanh(-0.8 + 0.1 - 0.6 * h1);
  const double a2 = ProbeWeight(0, 0) * (1 - h2 * h2), a1 = -0.6 * a2 * (1 - h1 * h1);
  const Values expected[] = {{0.5 * a1 - a2}, {a1 + a2}, {0.25 * a1 + h1 * a2}, {0}, {0}};
  for (size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(ReadPlain(run.plan().tensors[1].param_grads[i])[0], expected[i][0], 1e-12) << i;
  EXPECT_NEAR(source->gradients[2][0], -0.6 * a1, 1e-12);
}

TEST_ON_DEVICES(Recurrent, GoesOnWhereThePassBeforeEnded) {
  for (const char* type : {"LSTM", "RNN"}) {
    LayerCase twice = Recurrent(type, 3), longer = Recurrent(type, 3);
    const Values x = Counting(8, 0, 1);
    Values doubled = x;
    doubled.insert(doubled.end(), x.begin(), x.end());
    // Stream 1 begins a new sequence in every pass.
    twice.Bottom({2, 2, 2}, x).Bottom({2, 2}, {1, 0, 1, 1}).Passes(2);
    longer.Bottom({4, 2, 2}, doubled).Bottom({4, 2}, {1, 0, 1, 1, 1, 0, 1, 1});
    const Values all = longer.Top();
    twice.ExpectTop({2, 2, 3}, Values(all.begin() + 12, all.end()));
    EXPECT_NE(all[0], all[12]) << "the state changed nothing";
    EXPECT_EQ(all[3], all[15]);
    // Compares the gradients behind a carried state between devices.
    twice.ExpectBackendsAgree();
  }
}

// A net of one LSTM layer, with access to the state that the layer carries from pass to pass. If
// `exposed`, the state is a bottom and a top instead.
struct Carrying {
  explicit Carrying(std::unique_ptr<Device> on, bool exposed = false)
      : device(std::move(on)), store(device.get(), DType::kFloat32, 5) {
    std::string in, states, shapes;
    if (exposed) {
      in = " top: 'h0' top: 'c0'";
      states = " bottom: 'h0' bottom: 'c0' top: 'h' top: 'c'";
      shapes = " shape { dim: 1 dim: 2 dim: 3 } shape { dim: 1 dim: 2 dim: 3 }";
    }
    PlanOptions options;
    options.device = device.get();
    options.backward = true;
    net = std::make_unique<Net>(
        GraphFromText(
            "layer { name: 'in' type: 'TestSource' top: 'x' top: 'cont'" + in +
            " input_param { shape { dim: 2 dim: 2 dim: 2 } shape { dim: 2 dim: 2 }" + shapes +
            " } }"
            "layer { name: 'layer' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'y'" +
            states +
            " recurrent_param { num_output: 3 weight_filler { type: 'gaussian' std: 0.5 } "
            "expose_hidden: " +
            (exposed ? "true" : "false") + " } propagate_down: [true, false" +
            (states.find("bottom") != std::string::npos ? ", true, true" : "") +
            "] }"
            "layer { name: 'probe' type: 'TestProbe' bottom: 'y' top: 'probe' }" +
            (exposed ? "layer { name: 'end' type: 'Silence' bottom: 'h' bottom: 'c' }" : "")),
        options, &store);
    source = dynamic_cast<TestSource*>(InnermostKernel(net->plan().kernel(0)));
    source->values = {Counting(8, 0, 1), {1, 1, 1, 1}};
  }
  CarriesState* state() { return StateOf(net->plan().kernel(1)); }
  std::vector<float> Read(size_t blob) { return state()->State()[blob].data; }

  std::unique_ptr<Device> device;
  ParamStore store;
  std::unique_ptr<Net> net;
  TestSource* source;
};

TEST_ON_DEVICES(Recurrent, HasTheGradientThatExposedStatesWouldGive) {
  {
    Carrying carried(TestDevice()), exposed(MakeCpuDevice(), true);
    carried.net->Forward();
    const std::vector<PlainBlob> between = carried.state()->State();
    for (const PlainBlob& blob : between)
      exposed.source->values.emplace_back(blob.data.begin(), blob.data.end());
    EXPECT_TRUE(exposed.state()->State().empty());
    const double loss = carried.net->Forward();
    EXPECT_NEAR(exposed.net->Forward(), loss, 1e-5);
    carried.net->Backward(false);
    exposed.net->Backward(false);
    for (size_t i = 0; i < 3; ++i) {
      const Values got =
          ReadPlain(carried.net->plan().tensors[1].param_grads[i], carried.device.get());
      const Values want = ReadPlain(exposed.net->plan().tensors[1].param_grads[i]);
      for (size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(got[e], want[e], 1e-5) << i << ", " << e;
    }
  }
}

TEST_ON_DEVICES(Recurrent, IsTheSameAgainWhenAPassIsRepeated) {
  {
    Carrying c(TestDevice());
    c.net->Forward();
    const std::vector<float> first = c.Read(0);
    c.net->Forward();
    const std::vector<float> second = c.Read(0), cells = c.Read(1);
    EXPECT_NE(first, second);
    Pass pass = c.net->pass();
    pass.again = true;
    c.net->plan().kernel(1)->Forward(pass);
    EXPECT_EQ(c.Read(0), second);
    EXPECT_EQ(c.Read(1), cells);
  }
}

TEST_ON_DEVICES(Recurrent, GoesOnFromAStateThatItIsGiven) {
  {
    Carrying c(TestDevice());
    c.net->Forward();
    const std::vector<PlainBlob> between = c.state()->State();
    ASSERT_EQ(between.size(), 2u);
    EXPECT_EQ(between[0].shape.ToString(), "1x2x3");
    const double second = c.net->Forward();
    c.state()->SetState(between);
    EXPECT_EQ(c.net->Forward(), second);
    ResetState(c.state());
    EXPECT_NE(c.net->Forward(), second);
    EXPECT_EQ(c.Read(0), between[0].data);
  }
}

TEST_ON_DEVICES(Recurrent, LeavesNothingOfALostStateWhereASequenceBegins) {
  {
    Carrying c(TestDevice());
    c.source->values[1] = {0, 0, 1, 1};
    const double loss = c.net->Forward();
    std::vector<PlainBlob> lost = c.state()->State();
    for (PlainBlob& blob : lost) std::fill(blob.data.begin(), blob.data.end(), NAN);
    c.state()->SetState(lost);
    EXPECT_EQ(c.net->Forward(), loss);
    c.net->Backward(false);
    for (const Tensor& gradient : c.net->plan().tensors[1].param_grads) {
      for (double g : ReadPlain(gradient, c.device.get())) EXPECT_TRUE(std::isfinite(g));
    }
  }
}

TEST(Recurrent, ExplainsMistakes) {
  const auto given = [](const std::string& type, const std::string& more,
                        const std::vector<Shape>& bottoms, int tops) {
    LayerCase c = Recurrent(type, 3, more);
    for (const Shape& shape : bottoms) c.RandomBottom(shape);
    return c.Tops(tops);
  };
  const Shape x{4, 2, 5}, cont{4, 2}, state{1, 2, 3};
  LayerCase("type: 'LSTM'")
      .RandomBottom(x)
      .RandomBottom(cont)
      .ExpectMistake({"num_output must be positive, found 0"});
  given("RNN", "", {{4}, cont}, 1).ExpectMistake({"bottom 0 has shape 4;", "time steps x streams"});
  given("RNN", "", {{0, 2, 5}, {0, 2}}, 1).ExpectMistake({"bottom 0 has shape 0x2x5"});
  given("LSTM", "", {x, {2, 4}}, 1).ExpectMistake({"bottom 1 has shape 2x4", "cont", "4x2"});
  given("LSTM", "", {x, cont, {3, 2}}, 1).ExpectMistake({"bottom 2 has shape 3x2", "2 streams"});
  given("LSTM", "", {x, cont, {2, 1}, state}, 1)
      .ExpectMistake({"without expose_hidden", "2 or 3 bottoms, got 4"});
  given("LSTM", "", {x, cont}, 2).ExpectMistake({"makes 1 top(s), got 2"});
  given("LSTM", "expose_hidden: true", {x, cont, state}, 3)
      .ExpectMistake({"2 initial state(s)", "4 or 5 bottoms, got 3"});
  given("RNN", "expose_hidden: true", {x, cont, state}, 1)
      .ExpectMistake({"with expose_hidden makes 2 top(s), got 1"});
  given("RNN", "expose_hidden: true", {x, cont, {2, 3}}, 2)
      .ExpectMistake({"bottom 2 has shape 2x3", "1x2x3"});
}

}  // namespace
}  // namespace doppio
