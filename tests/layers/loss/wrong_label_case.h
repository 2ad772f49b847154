// Tests what a loss on a GPU does with a label that is not a class: it returns NaN at once, the
// next pass throws an error that names the label, and the pass after that succeeds.
#ifndef DOPPIO_TESTS_LAYERS_LOSS_WRONG_LABEL_CASE_H_
#define DOPPIO_TESTS_LAYERS_LOSS_WRONG_LABEL_CASE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"
#include "tests/testing/test_layers.h"

namespace doppio {

// `layers` read the blobs x (4 samples of 3 scores, all 0) and label. `loss` is their loss for the
// labels 0, 1, 2, 0.
inline void ExpectGpuNamesWrongLabelIn(const std::string& layers, double loss) {
  const std::unique_ptr<Device> gpu = TestGpu();
  PlanOptions options;
  options.device = gpu.get();
  ParamStore store(gpu.get(), DType::kFloat32, 5);
  Net net(GraphFromText("layer { name: 'in' type: 'TestSource' top: 'x' top: 'label' "
                        "param { lr_mult: 0 } input_param {"
                        "  shape { dim: 4 dim: 3 } shape { dim: 4 } } }" +
                        layers),
          options, &store);
  TestSource& source = dynamic_cast<TestSource&>(*InnermostKernel(net.plan().kernel(0)));
  const std::vector<double> even(12, 0), good = {0, 1, 2, 0};
  source.values = {even, {0, 2, 3.5, -1}};
  EXPECT_TRUE(std::isnan(net.Forward()));
  gpu->Synchronize();
  source.values = {even, good};
  const Error e = Thrown([&] { net.Forward(); });
  EXPECT_EQ(e.code(), ExitCode::kConfig);
  EXPECT_NE(e.message().find("label 3.5 at sample 2 is outside 0..2"), std::string::npos)
      << e.what();
  EXPECT_NEAR(net.Forward(), loss, 1e-6 * (1 + loss));
}

// The same for a single loss layer; `layer` is the text of its type and fields.
inline void ExpectGpuNamesWrongLabel(const std::string& layer, double loss) {
  ExpectGpuNamesWrongLabelIn("layer { name: 'loss' bottom: 'x' bottom: 'label' " + layer + " }",
                             loss);
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_LOSS_WRONG_LABEL_CASE_H_
