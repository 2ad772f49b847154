// Tests that each relation holds for a net that is known to be right, and that relations find
// layers that are wrong.
#include "tests/random/relation.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <csignal>
#include <stdexcept>

#include "core/base/file.h"
#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "core/net/spec/prototxt.h"
#include "tests/random/child.h"
#include "tests/random/found_case.h"
#include "tests/random/ledger.h"
#include "tests/random/new_names.h"
#include "tests/random/relation_run.h"
#include "tests/random/shrink.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

// Layers that return their bottom, except in what their names say.
LayerShape InferWrong(const LayerSpec&, const std::vector<Shape>& bottoms) {
  LayerShape shape;
  shape.tops = {bottoms[0]};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class Copies : public Kernel {
 public:
  explicit Copies(const KernelArgs& args)
      : count_(args.bottoms[0].shape.count()), type_(args.type) {}

  void Forward(const Pass&) override {
    const bool wrong = type_ == "WrongInThreads" && NumThreads() == 3;
    Copy(t_.bottoms[0].data<T>(), wrong ? 1.01 : 1, t_.tops[0].data<T>());
  }
  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const bool wrong = type_ == "WrongBackward";
    Copy(t_.top_grads[0].data<T>(), wrong ? 1.01 : 1, t_.bottom_grads[0].data<T>());
  }

 protected:
  void Copy(const T* from, double factor, T* to) const {
    for (int64_t i = 0; i < count_; ++i) to[i] = static_cast<T>(factor) * from[i];
  }

 private:
  const int64_t count_;
  const std::string type_;
};

class GrowingCopies : public Copies<float> {
 public:
  using Copies<float>::Copies;
  void Forward(const Pass&) override {
    Copy(t_.bottoms[0].data<float>(), 1.01, t_.tops[0].data<float>());
  }
};

std::string DeclinesDouble(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : "computes in single precision only";
}

DOPPIO_REGISTER_LAYER("WrongInThreads", LayerType(&InferWrong).Bottoms(1).Tops(1));
DOPPIO_REGISTER_LAYER("WrongBackward", LayerType(&InferWrong).Bottoms(1).Tops(1));
DOPPIO_REGISTER_LAYER("WrongIfFast", LayerType(&InferWrong).Bottoms(1).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Copies>("WrongInThreads"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Copies>("WrongBackward"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Copies>("WrongIfFast"));
DOPPIO_REGISTER_KERNEL(KernelType("WrongIfFast", &MakeKernel<GrowingCopies>)
                           .Engine("fast")
                           .Rank(10)
                           .Declines(&DeclinesDouble));

constexpr char kSolver[] =
    "base_lr: 0.05 lr_policy: 'inv' gamma: 0.1 power: 0.5 momentum: 0.9 weight_decay: 0.001 "
    "max_iter: 4 test_interval: 2 test_iter: 2";

// A small net without kinks. `layer` is the type of one of its layers.
RandomCase SmoothCase(const std::string& layer = "TanH") {
  RandomCase random_case;
  ParseText(R"(
    name: "smooth"
    layer { name: "data" type: "DummyData" top: "data" top: "label"
            dummy_data_param { shape { dim: 6 dim: 3 dim: 7 dim: 5 } shape { dim: 6 }
                               data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "mid" type: ")" +
                layer + R"(" bottom: "conv" top: "mid" }
    layer { name: "a" type: "InnerProduct" bottom: "mid" top: "a" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "b" type: "InnerProduct" bottom: "mid" top: "b" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "s" type: "Sigmoid" bottom: "b" top: "b" }
    layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "sum" bottom: "label" top: "loss" }
    layer { name: "accuracy" type: "Accuracy" bottom: "sum" bottom: "label" top: "accuracy"
            include { phase: TEST } }
  )",
            "net", &random_case.net);
  ParseText(kSolver, "solver", &random_case.solver);
  random_case.traits = TraitsOf(random_case.net);
  return random_case;
}

std::string Check(const std::string& relation, const RandomCase& random_case, uint64_t draw = 1) {
  const ScratchFolder scratch;
  return CheckRelation(relation, random_case, draw, scratch.path() + "/case");
}

TEST(Relation, HoldsForANetThatIsRight) {
  for (const std::string& name : Relations::Get().Names()) {
    if (name == "gpu") continue;
    for (const uint64_t draw : {1, 2, 3}) EXPECT_EQ(Check(name, SmoothCase(), draw), "") << name;
  }
}

TEST_ON_GPU(Relation, HoldsForANetThatIsRight) { EXPECT_EQ(Check("gpu", SmoothCase()), ""); }

TEST(Relation, FindsWhatDependsOnThreads) {
  const std::string why = Check("threads", SmoothCase("WrongInThreads"));
  EXPECT_NE(why.find("3 threads instead of 2: loss 1"), std::string::npos) << why;
}

TEST(Relation, FindsAWrongGradient) {
  const std::string why = Check("gradients", SmoothCase("WrongBackward"));
  EXPECT_NE(why.find("of layer 'conv': the loss rises by"), std::string::npos) << why;
}

TEST(Relation, TellsInternalErrorsApartByTheirPlaces) {
  const std::string kind = KindOfFailure("threw: internal error: dtype.h:45: float16 (wide)");
  EXPECT_EQ(kind, KindOfFailure("threw: internal error: dtype.h:45: bfloat16 (wide)"));
  EXPECT_NE(kind, KindOfFailure("threw: internal error: dtype.h:46: float16 (wide)"));
  EXPECT_NE(kind, KindOfFailure("threw: no memory"));
  EXPECT_EQ(KindOfFailure("threw: no memory"), KindOfFailure("threw: no file"));
}

TEST(Relation, FindsAWrongKernelAndTheSmallestNetThatHasIt) {
  const auto fails = [](const RandomCase& random_case) {
    return KindOfFailure(Check("fast_is_reference", random_case)) == "numbers";
  };
  const RandomCase wrong = SmoothCase("WrongIfFast");
  ASSERT_TRUE(fails(wrong));
  const RandomCase smallest = Shrink(wrong, fails, {250, 120});
  EXPECT_TRUE(fails(smallest));
  EXPECT_LE(smallest.net.layer_size(), 4) << CaseText(smallest);
}

Outcome Numbers(const std::string& name, const std::vector<double>& values) {
  Outcome outcome;
  outcome.numbers[name] = values;
  return outcome;
}

TEST(Difference, IsRelativeToNumbersOfTheSameScale) {
  const Outcome a = Numbers("test 0 top 1", {1, 200}), b = Numbers("test 0 top 1", {2, 200});
  EXPECT_DOUBLE_EQ(LargestDifference(a, b).relative, 1 / 200.0);
  EXPECT_EQ(LargestDifference(a, b).ToString(),
            "test 0 top 1: 1 instead of 2 at element 0 of 2, relative 0.005");
  EXPECT_EQ(LargestDifference(a, a).relative, 0);
  Outcome moves = Numbers("move a 0", {10}), others = moves;
  moves.numbers["move b 0"] = {1e-6};
  others.numbers["move b 0"] = {2e-6};
  EXPECT_DOUBLE_EQ(LargestDifference(moves, others).relative, 1e-7);
}

TEST(Difference, IsInfiniteWithoutACounterpart) {
  const Outcome a = Numbers("loss 1", {1});
  EXPECT_TRUE(std::isinf(LargestDifference(a, Outcome()).relative));
  EXPECT_TRUE(std::isinf(LargestDifference(a, Numbers("loss 1", {1, 2})).relative));
  EXPECT_TRUE(std::isinf(LargestDifference(a, Numbers("loss 1", {std::nan("")})).relative));
  const Outcome lost = Numbers("loss 1", {std::nan("")});
  EXPECT_EQ(LargestDifference(lost, lost).relative, 0);
  EXPECT_TRUE(Diverged(lost));
  EXPECT_FALSE(Diverged(a));
}

TEST(NewNames, ArePutBack) {
  NetParameter net = SmoothCase().net;
  Draw draw(3);
  const NewNames names = GiveNewNames(&draw, &net);
  EXPECT_EQ(net.layer(0).name(), "data");  // a source keeps its name
  EXPECT_NE(net.layer(1).name(), "conv");
  EXPECT_EQ(names.OldLayer(net.layer(1).name()), "conv");
  EXPECT_EQ(names.OldLayer(net.layer(1).name() + "_relu"), "conv_relu");
  Outcome outcome = Numbers("weight " + net.layer(1).name() + " 0", {1});
  outcome.numbers["history " + net.layer(1).name() + " 1 0"] = {2};
  outcome.numbers["test 0 " + net.layer(7).top(0) + " 12"] = {3};
  outcome.numbers["loss 2"] = {4};
  const auto old = names.Old(outcome).numbers;
  EXPECT_EQ(old.size(), 4u);
  EXPECT_EQ(old.count("weight conv 0") + old.count("history conv 1 0") +
                old.count("test 0 loss 12") + old.count("loss 2"),
            4u);
}

TEST(FoundCase, ReadsWhatItWrites) {
  const FoundCase found = {"resume", 17, SmoothCase()};
  const ScratchFolder scratch;
  const std::string path = scratch.path() + "/found.prototxt";
  WriteFileAtomically(path, FoundText(found, "one\ntwo"));
  const FoundCase read = ReadFound(path);
  EXPECT_EQ(read.relation, "resume");
  EXPECT_EQ(read.draw, 17u);
  EXPECT_EQ(CaseText(read.random_case), CaseText(found.random_case));
}

TEST(Ledger, AddsUpCounts) {
  Tally tally;
  tally.runs = 3;
  tally.threads = {2};
  tally.refusals["net.prototxt:31:11: layer 12 wants 3"] = 2;
  nlohmann::json sums = nlohmann::json::object();
  for (int i = 0; i < 2; ++i) AddUp(CountsOf(SmoothCase(), {}, tally), &sums);
  EXPECT_EQ(sums["seeds"], 2);
  EXPECT_EQ(sums["types"]["Convolution"], 2);
  EXPECT_EQ(sums["fields"]["Convolution convolution_param.kernel_size"], 2);
  EXPECT_EQ(sums["pairs"]["type x threads"]["Eltwise, 2"], 2);
  EXPECT_EQ(sums["refusals"]["net.prototxt:N:N: layer N wants N"], 4);
  EXPECT_NE(SummaryOf(sums, {0.5, 0.1, 0.2}).find("2 seeds, median 0.20 s"), std::string::npos)
      << SummaryOf(sums, {0.5, 0.1, 0.2});
}

// Last, because a process that has computed cannot compute in its children.
TEST(Child, SaysHowItEnded) {
  Child lines([](const SendLine& send) {
    send("one\nline");
    send("two");
  });
  EXPECT_EQ(lines.Next(10), "one\nline");
  EXPECT_EQ(lines.Next(10), "two");
  EXPECT_FALSE(lines.Next(10).has_value());
  EXPECT_EQ(lines.failure(), "");

  Child throws([](const SendLine&) { throw std::runtime_error("no luck"); });
  EXPECT_FALSE(throws.Next(10).has_value());
  EXPECT_EQ(throws.failure(), "no luck");

  Child crashes([](const SendLine&) { std::raise(SIGKILL); });
  EXPECT_FALSE(crashes.Next(10).has_value());
  EXPECT_EQ(crashes.failure(), "signal 9 (Killed)");

  Child hangs([](const SendLine&) {
    for (;;) pause();
  });
  EXPECT_FALSE(hangs.Next(0.1).has_value());
  EXPECT_EQ(hangs.failure(), "no answer in 0.1 s");
}

}  // namespace
}  // namespace doppio
