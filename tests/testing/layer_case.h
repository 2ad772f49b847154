// Layers tested in the user's language: a layer's prototxt, bottoms, and what is expected of it.
//
//   LayerCase(R"(type: "Pooling" pooling_param { kernel_size: 2 stride: 2 })")
//       .Bottom({1, 1, 2, 2}, {1, 4, 3, 2})
//       .ExpectTop({1, 1, 1, 1}, {4})
//       .ExpectGradient()          // analytic against central differences, in double
//       .ExpectBackendsAgree();    // every other kernel, and every memory plan, against the
//       reference
//
// The layer runs inside a real net (graph, plan, memory) whose loss is a fixed random combination
// of its tops.
#ifndef DOPPIO_TESTS_TESTING_LAYER_CASE_H_
#define DOPPIO_TESTS_TESTING_LAYER_CASE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/net/run/net.h"
#include "tests/testing/test_gpu.h"

namespace doppio {

class LayerCase {
 public:
  explicit LayerCase(const std::string& layer_prototxt);

  // The next bottom. Values are in row-major order.
  LayerCase& Bottom(const Shape& shape, const std::vector<double>& values);
  // Values drawn uniformly from [low, high), the same in every run.
  LayerCase& RandomBottom(const Shape& shape, double low = -1, double high = 1);
  // Integers in [0, classes): labels.
  LayerCase& LabelBottom(const Shape& shape, int classes);
  // Parameter i gets these values; otherwise they are drawn from [-0.5, 0.5).
  LayerCase& Param(int i, const std::vector<double>& values);
  // Parameters keep what their fillers gave them.
  LayerCase& KeepFilledParams();
  LayerCase& InPlace();  // top 0 is named as bottom 0
  LayerCase& InPhase(Phase phase);
  LayerCase& Tops(int count);       // 1 unless said
  LayerCase& Read(int tops);        // only the first tops are read and compared; all unless said
  LayerCase& Passes(int forwards);  // forward passes before results are looked at; 1 unless said
  LayerCase& AsLoss();              // nothing reads the tops: the layer is the net's loss
  LayerCase& NoGradient();          // the layer has no backward

  // In double by the reference, and in float by the fastest kernel within 1e-4 at least.
  LayerCase& ExpectTop(const Shape& shape, const std::vector<double>& values,
                       double tolerance = 1e-5, int top = 0);
  LayerCase& ExpectTopShape(const Shape& shape, int top = 0);
  // The gradient of a bottom when that of top 0 is `top_gradient` and that of other tops is 0.
  LayerCase& ExpectBottomGradient(const std::vector<double>& top_gradient,
                                  const std::vector<double>& bottom_gradient, int bottom = 0,
                                  double tolerance = 1e-5);
  LayerCase& ExpectParam(int i, const std::vector<double>& values, double tolerance = 1e-5);
  // Differences of width `step`; elements of bottoms closer than 2 * step to `kink` are left out.
  LayerCase& ExpectGradient(double step = 1e-4, double tolerance = 1e-5, double kink = 1e300);
  LayerCase& ExpectBackendsAgree(double tolerance = 2e-5);
  // How far results with 16-bit activations may be off, in halves of a unit in the last place of
  // the largest result; 4 unless said. Before ExpectBackendsAgree.
  LayerCase& NarrowTolerance(double halves);
  // Building the net, or its first pass, fails with a message that has a place and contains all of
  // `parts`.
  LayerCase& ExpectMistake(const std::vector<std::string>& parts);

  std::vector<double> Top(int top = 0);
  // The gradient of the probe's loss, by the reference.
  std::vector<double> BottomGradient(int bottom = 0);
  // The engine whose kernel computes the layer in float; "view" when none does.
  std::string Engine();
  // The same on a GPU; "" without one.
  std::string GpuEngine();
  // Whether the GPU's kernel reads and writes 16 bits itself (KernelType::narrow); also true
  // without a GPU.
  bool NarrowOnGpu();
  // How often the plan for a GPU converts when bottoms come in 16 bits, images with channels last;
  // 0 without one.
  int GpuConversions();

 private:
  struct Input {
    Shape shape;
    std::vector<double> values;
  };
  // How a net is built and run.
  struct Mode {
    DType dtype = DType::kFloat64;
    std::string engine = "reference";
    bool backward = false, keep_all = false;
    bool bottoms_learn = true;       // whether gradients of the bottoms are wanted
    bool accumulate = true;          // whether gradients may be asked to add
    int block = 0;                   // channels per block of the bottoms
    bool gpu = false;                // on TestGpu()
    bool channels_last = false;      // the bottoms; on a GPU
    DType stored = DType::kFloat32;  // of activations
    std::string ToString() const;
  };
  struct Result {
    std::vector<Shape> shapes;
    std::vector<std::vector<double>> tops, bottom_grads, param_grads, params;
    // Of parameters, when a second pass adds to the first.
    std::vector<std::vector<double>> added_grads;
    double loss = 0;
    int64_t padding_in_use = 0;
  };
  struct Run;

  bool HasImages() const;
  bool probed() const { return tops_ > 0 && !as_loss_; }
  std::string NetText(const Mode& mode) const;
  std::string PropagateDown(Mode mode) const;
  std::unique_ptr<Run> Build(const Mode& mode);
  Result Compute(const Mode& mode);
  void SetParams(Run* run);
  void ComputeBackward(Run* run, const Mode& mode, Result* result);
  void Compare(const Mode& mode, const Result& want, double tolerance);
  void ExpectGpuAgrees(const Result& want, double tolerance);
  void ExpectNarrowAgrees();
  std::string EngineOn(bool gpu);
  std::unique_ptr<Run> BuildNarrowOnGpu();

  std::string layer_;
  std::vector<Input> inputs_;
  std::vector<std::pair<int, std::vector<double>>> params_;
  std::vector<double> top_gradient_;  // of top 0, when given
  bool keep_filled_ = false, in_place_ = false, as_loss_ = false, no_gradient_ = false;
  Phase phase_ = TRAIN;
  int tops_ = 1, read_ = 1 << 30, passes_ = 1;
  double narrow_tolerance_ = 4;
};

// Parses, filters and understands a net; for tests of graphs and plans.
Graph GraphFromText(const std::string& text, Phase phase = TRAIN,
                    std::optional<DType> stored = std::nullopt);

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_LAYER_CASE_H_
