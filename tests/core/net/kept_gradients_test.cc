// Tests the gradients of blobs that a net keeps (PlanOptions::keep_all): each blob has its own,
// even if it shares the memory of its values with another blob.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/net/run/net.h"
#include "core/net/contract/plain_blob.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// A net that keeps all blobs, after one forward and backward.
class KeptNet {
 public:
  explicit KeptNet(const std::string& text, const std::string& engine = "") {
    PlanOptions options;
    options.device = device_.get();
    options.backward = options.keep_all = true;
    options.engine = engine;
    net_ = std::make_unique<Net>(GraphFromText("force_backward: true\n" + text), options, &params_);
    const Tensor& x = net_->plan().tensors[0].tops[0];
    for (int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i % 7) - 3;
    net_->Forward();
    net_->Backward(false);
  }

  const Net& net() const { return *net_; }

  std::vector<float> Gradient(const std::string& blob) const {
    const Tensor gradient = net_->BlobGradient(blob);
    return gradient ? ReadTensor(gradient, device_.get()).data : std::vector<float>();
  }

 private:
  const std::unique_ptr<Device> device_ = MakeCpuDevice();
  ParamStore params_{device_.get(), DType::kFloat32, 1};
  std::unique_ptr<Net> net_;
};

std::string InputOf(const std::string& dims) {
  return "layer { name: 'in' type: 'TestInput' top: 'x' input_param { shape { " + dims + " } } }\n";
}

// Returns a layer whose gradient is `factor` times that of its top.
std::string Times(int factor, const std::string& bottom, const std::string& top,
                  const std::string& more = "") {
  return "layer { name: '" + top + "' type: 'Power' bottom: '" + bottom + "' top: '" + top +
         "' power_param { scale: " + std::to_string(factor) + " } " + more + " }\n";
}

std::string ViewOf(const std::string& type, const std::string& bottom, const std::string& tops,
                   const std::string& more = "") {
  return "layer { name: '" + type + "' type: '" + type + "' bottom: '" + bottom + "' " + tops +
         " " + more + " }\n";
}

constexpr char kLoss[] = "loss_weight: 1";

const std::string& Start() {
  static const std::string text = InputOf("dim: 1 dim: 2 dim: 1 dim: 2") + Times(1, "x", "a");
  return text;
}

std::vector<float> Four(float value) { return std::vector<float>(4, value); }

TEST(KeptGradients, OfAViewExcludeOtherReadersOfItsBottom) {
  const std::string shape = "reshape_param { shape { dim: 4 } }";
  const std::vector<std::string> views = {ViewOf("Flatten", "a", "top: 'v'"),
                                          ViewOf("Reshape", "a", "top: 'v'", shape),
                                          ViewOf("Concat", "a", "top: 'v'")};
  for (const std::string& view : views) {
    const std::string two = Times(2, "v", "p", kLoss), three = Times(3, "a", "q", kLoss);
    for (const std::string& readers : {two + three, three + two}) {
      const KeptNet kept(Start() + view + readers);
      EXPECT_EQ(kept.Gradient("v"), Four(2)) << view;
      EXPECT_EQ(kept.Gradient("a"), Four(5)) << view;
      EXPECT_EQ(kept.Gradient("x"), Four(5)) << view;
      EXPECT_EQ(kept.net().Blob("v").raw, kept.net().Blob("a").raw) << view;
    }
  }
}

TEST(KeptGradients, OfTheTopsOfASplitAreTheirOwn) {
  const KeptNet kept(Start() + ViewOf("Split", "a", "top: 's' top: 't' top: 'unread'") +
                     Times(2, "s", "p", kLoss) + Times(3, "t", "q", kLoss));
  EXPECT_EQ(kept.Gradient("s"), Four(2));
  EXPECT_EQ(kept.Gradient("t"), Four(3));
  EXPECT_EQ(kept.Gradient("a"), Four(5));
}

TEST(KeptGradients, OfViewsOfViewsAreThoseOfTheirOwnReaders) {
  const KeptNet kept(
      Start() + ViewOf("Flatten", "a", "top: 'f'") +
      ViewOf("Reshape", "f", "top: 'r'", "reshape_param { shape { dim: 2 dim: 2 } }") +
      Times(2, "r", "p", kLoss) + Times(3, "a", "q", kLoss));
  EXPECT_EQ(kept.Gradient("r"), Four(2));
  EXPECT_EQ(kept.Gradient("f"), Four(2));
  EXPECT_EQ(kept.Gradient("a"), Four(5));
}

TEST(KeptGradients, OfAViewIncludeItsLossWeight) {
  const KeptNet kept(Start() + ViewOf("Flatten", "a", "top: 'f'", "loss_weight: 7") +
                     Times(2, "f", "p", kLoss) + Times(3, "a", "q", kLoss));
  EXPECT_EQ(kept.Gradient("f"), Four(9));
  EXPECT_EQ(kept.Gradient("a"), Four(12));
}

TEST(KeptGradients, OfAViewThatIsTheOnlyReaderAreThoseOfItsBottom) {
  const KeptNet kept(Start() + ViewOf("Flatten", "a", "top: 'f'") + Times(2, "f", "p", kLoss) +
                     Times(3, "f", "q", kLoss));
  EXPECT_EQ(kept.Gradient("f"), Four(5));
  EXPECT_EQ(kept.Gradient("a"), Four(5));
}

// oneDNN's convolution reads its bottom in a layout of its own.
TEST(KeptGradients, OfTheInputAreKeptWhateverLayoutItsReaderNeeds) {
  const std::string text =
      InputOf("dim: 2 dim: 16 dim: 5 dim: 5") +
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' loss_weight: 1\n"
      "  convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: 'xavier' } } }\n";
  const std::vector<float> expected = KeptNet(text, "reference").Gradient("x");
  const std::vector<float> found = KeptNet(text, "onednn").Gradient("x");
  ASSERT_EQ(expected.size(), 2u * 16 * 5 * 5);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace doppio
