// Tests a layer from its prototxt, its bottoms and the results that the test expects.
//
//   LayerCase(R"(type: "Pooling" pooling_param { kernel_size: 2 stride: 2 })")
//       .Bottom({1, 1, 2, 2}, {1, 4, 3, 2})
//       .ExpectTop({1, 1, 1, 1}, {4})
//       .ExpectGradient()          // analytic against central differences, in double
//       .ExpectBackendsAgree();    // other kernels and memory plans against the reference
//
// The layer runs inside a real net (graph, plan, memory). The net's loss is a fixed random
// combination of the layer's tops.
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

// One layer with its inputs. The Expect methods build and run nets, and record failures with
// GoogleTest.
class LayerCase {
 public:
  // `layer_prototxt` is the body of a layer message without name, bottoms and tops.
  explicit LayerCase(const std::string& layer_prototxt);

  // Adds the next bottom. `values` are in row-major order.
  LayerCase& Bottom(const Shape& shape, const std::vector<double>& values);
  // Adds a bottom with values drawn uniformly from [low, high). The values are the same in every
  // run.
  LayerCase& RandomBottom(const Shape& shape, double low = -1, double high = 1);
  // Adds a bottom of labels: random integers in [0, classes).
  LayerCase& LabelBottom(const Shape& shape, int classes);
  // Sets the values of parameter i. Other parameters are drawn uniformly from [-0.5, 0.5).
  LayerCase& Param(int i, const std::vector<double>& values);
  // Keeps the values that the fillers gave the parameters.
  LayerCase& KeepFilledParams();
  LayerCase& InPlace();  // top 0 has the name of bottom 0
  LayerCase& InPhase(Phase phase);
  LayerCase& Tops(int count);       // default 1
  LayerCase& Read(int tops);        // only the first `tops` tops are read and compared; default all
  LayerCase& Passes(int forwards);  // forward passes before the results are read; default 1
  LayerCase& AsLoss();              // no layer reads the tops, so the layer is the net's loss
  LayerCase& NoGradient();          // the layer has no backward

  // Checks a top in double by the reference kernel, and in float by the fastest kernel (in cases
  // on a GPU, the GPU's) with a tolerance of at least 1e-4.
  LayerCase& ExpectTop(const Shape& shape, const std::vector<double>& values,
                       double tolerance = 1e-5, int top = 0);
  LayerCase& ExpectTopShape(const Shape& shape, int top = 0);
  // Checks the gradient of a bottom, given `top_gradient` as the gradient of top 0. The gradients
  // of other tops are 0.
  LayerCase& ExpectBottomGradient(const std::vector<double>& top_gradient,
                                  const std::vector<double>& bottom_gradient, int bottom = 0,
                                  double tolerance = 1e-5);
  LayerCase& ExpectParam(int i, const std::vector<double>& values, double tolerance = 1e-5);
  // Checks the gradients of bottoms and parameters against central differences of width `step`.
  // Skips elements of bottoms closer than 2 * step to `kink`. Does nothing in cases on a GPU.
  LayerCase& ExpectGradient(double step = 1e-4, double tolerance = 1e-5, double kink = 1e300);
  // Checks every other kernel of the case's device, in float and 16 bits, and every memory plan
  // against the reference. The case needs TEST_ON_DEVICES or TEST_ON_GPU.
  LayerCase& ExpectBackendsAgree(double tolerance = 2e-5);
  // In cases on a GPU, check that the GPU computes the layer and not the host, that its kernel
  // reads and writes bfloat16 itself (KernelType::Narrow), and that a plan whose bottoms are in 16
  // bits, with images in channels-last layout, has no conversion. On the CPU they do nothing.
  LayerCase& ExpectGpuKernel();
  LayerCase& ExpectNarrowOnGpu();
  LayerCase& ExpectNoGpuConversions();
  // Sets the tolerance for results with 16-bit activations, in halves of a unit in the last place
  // of the largest result. The default is 4. Must be called before ExpectBackendsAgree.
  LayerCase& NarrowTolerance(double halves);
  // Sets an option of an engine for all later nets (EngineOptions).
  LayerCase& Use(const std::string& engine, const std::string& option);
  // Checks that building the net or its first pass fails with a message that has a source location
  // and contains all of `parts`.
  LayerCase& ExpectMistake(const std::vector<std::string>& parts);

  // Returns the values of a top, computed by the reference kernel.
  std::vector<double> Top(int top = 0);
  // Returns the gradient of a bottom for the probe's loss, computed by the reference kernel.
  std::vector<double> BottomGradient(int bottom = 0);
  // Returns the values of a top, computed by the fastest kernel in float.
  std::vector<double> FastTop(int top = 0);
  // Returns the engine whose kernel computes the layer in float, or "view" if the layer has no
  // kernel.
  std::string Engine();
  // Returns the engine on the test GPU for activations of this type. Only for cases on a GPU.
  std::string GpuEngine(DType stored = DType::kFloat32);
  // Return true if the kernel reads and writes bfloat16 itself (KernelType::Narrow). NarrowOnGpu is
  // only for cases on a GPU.
  bool NarrowOnCpu();
  bool NarrowOnGpu();

 private:
  struct Input {
    Shape shape;
    std::vector<double> values;
  };
  // The options for building and running a net.
  struct Mode {
    DType dtype = DType::kFloat64;
    std::string engine = "reference";
    bool backward = false, keep_all = false;
    bool bottoms_learn = true;       // the net computes gradients of the bottoms
    bool accumulate = true;          // backward may be asked to add to gradients
    int block = 0;                   // channels per block of the bottoms; 0: no blocks
    bool gpu = false;                // run on TestGpu()
    bool channels_last = false;      // layout of the bottoms; requires gpu
    DType stored = DType::kFloat32;  // type of the activations
    std::string ToString() const;
  };
  // Results of a run.
  struct Result {
    std::vector<Shape> shapes;
    std::vector<std::vector<double>> tops, bottom_grads, param_grads, params;
    // Parameter gradients after a second pass that adds to the first.
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
  void ExpectCpuAgrees(const Result& want, double tolerance);
  void ExpectGpuAgrees(const Result& want, double tolerance);
  void ExpectNarrowAgrees();
  std::unique_ptr<Run> BuildFastest(bool gpu, DType stored);
  bool IsNarrow(bool gpu);

  std::string layer_;
  std::vector<Input> inputs_;
  std::vector<std::pair<int, std::vector<double>>> params_;
  std::vector<double> top_gradient_;  // the gradient of top 0; empty: the probe's gradient
  bool keep_filled_ = false, in_place_ = false, as_loss_ = false, no_gradient_ = false;
  Phase phase_ = TRAIN;
  int tops_ = 1, read_ = 1 << 30, passes_ = 1;
  double narrow_tolerance_ = 4;
  EngineOptions engine_options_;
};

// Parses `text`, filters it by phase and builds its graph. For tests of graphs and plans.
Graph GraphFromText(const std::string& text, Phase phase = TRAIN,
                    std::optional<DType> stored = std::nullopt);

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_LAYER_CASE_H_
