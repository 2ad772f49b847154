// Compares the model with published scaling results, using their inputs as far as these are known.
// The nets are counted by hand here. docs/parallel.md shows and explains the predictions for the
// nets of models/, which tests/docs/scaling_table_test.py checks.
#include <gtest/gtest.h>

#include "parallel/gpu/links.h"
#include "parallel/reduce/scaling_model.h"

namespace doppio {
namespace {

struct LayerCost {
  double macs = 0;
  int64_t values = 0;  // number of weights, biases, and BatchNorm scales and shifts
};

using NetCost = std::vector<LayerCost>;  // in forward order

// A convolution with `groups` groups of channels. With BatchNorm, it has 2 values per channel
// instead of a bias.
LayerCost Conv(int size, int kernel, int in, int out, bool batch_norm = false, int groups = 1) {
  const int64_t weights = int64_t{kernel} * kernel * in / groups * out;
  return {static_cast<double>(weights) * size * size, weights + (batch_norm ? 2 : 1) * out};
}

LayerCost Full(int in, int out) { return {1.0 * in * out, int64_t{in} * out + out}; }

NetCost CaffeNet() {
  return {Conv(55, 11, 3, 96),
          Conv(27, 5, 96, 256, false, 2),
          Conv(13, 3, 256, 384),
          Conv(13, 3, 384, 384, false, 2),
          Conv(13, 3, 384, 256, false, 2),
          Full(9216, 4096),
          Full(4096, 4096),
          Full(4096, 1000)};
}

NetCost Vgg16() {
  return {
      Conv(224, 3, 3, 64),   Conv(224, 3, 64, 64),  Conv(112, 3, 64, 128), Conv(112, 3, 128, 128),
      Conv(56, 3, 128, 256), Conv(56, 3, 256, 256), Conv(56, 3, 256, 256), Conv(28, 3, 256, 512),
      Conv(28, 3, 512, 512), Conv(28, 3, 512, 512), Conv(14, 3, 512, 512), Conv(14, 3, 512, 512),
      Conv(14, 3, 512, 512), Full(25088, 4096),     Full(4096, 4096),      Full(4096, 1000)};
}

// `blocks` has the number of blocks in each of the four stages: 3 4 6 3 is ResNet-50, 3 4 23 3 is
// ResNet-101.
NetCost ResNet(const std::vector<int>& blocks) {
  NetCost net = {Conv(112, 7, 3, 64, true)};
  int in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int size = 56 >> stage, width = 64 << stage;
    for (int block = 0; block < blocks[static_cast<size_t>(stage)]; ++block) {
      if (block == 0) net.push_back(Conv(size, 1, in, 4 * width, true));
      net.push_back(Conv(size, 1, in, width, true));
      net.push_back(Conv(size, 3, width, width, true));
      net.push_back(Conv(size, 1, width, 4 * width, true));
      in = 4 * width;
    }
  }
  net.push_back(Full(2048, 1000));
  return net;
}

// A net of which only the total is known, as `layers` equal layers.
NetCost Even(int layers, int64_t values) {
  return NetCost(static_cast<size_t>(layers), {1, values / layers});
}

int64_t ValuesOf(const NetCost& net) {
  int64_t values = 0;
  for (const LayerCost& layer : net) values += layer.values;
  return values;
}

// Assumes that backward takes twice as long as forward (Caffe's GoogLeNet on a K40: 563 and 1124
// ms), that each layer's time is proportional to its multiply-adds, and that the update is part of
// backward's time.
RankTimes Times(const NetCost& net, int batch, double images_per_s) {
  const double iteration_ms = batch * 1e3 / images_per_s;
  double macs = 0;
  for (const LayerCost& layer : net) macs += layer.macs;
  RankTimes times;
  times.batch = batch;
  times.forward_ms = iteration_ms / 3;
  for (auto layer = net.rbegin(); layer != net.rend(); ++layer) {
    times.backward.push_back({iteration_ms * 2 / 3 * layer->macs / macs, {layer->values}});
  }
  return times;
}

constexpr int64_t kMiB = int64_t{1} << 20, kWholeNet = int64_t{1} << 40;

ScalingOptions Setting(Topology topology, const char* inside, const char* across,
                       int ranks_per_node, int64_t bucket_bytes) {
  ScalingOptions options;
  options.cluster = {topology, ParseLink("inside", inside), ParseLink("across", across),
                     ranks_per_node};
  options.bucket_bytes = bucket_bytes;
  return options;
}

TEST(Published, NetsHaveTheirNumbersOfParameters) {
  EXPECT_EQ(ValuesOf(CaffeNet()), 60'965'224);
  EXPECT_EQ(ValuesOf(Vgg16()), 138'357'544);
  EXPECT_EQ(ValuesOf(ResNet({3, 4, 6, 3})), 25'557'032);
  EXPECT_EQ(ValuesOf(ResNet({3, 4, 23, 3})), 44'549'160);
}

// BVLC, docs/multigpu.md, AlexNet to GoogLeNet: speed-up of about 1.8 on 2 and 3.5 on 4 GPUs. The
// gradients of the whole net are sent up a tree and the weights down.
TEST(Published, ArePredictedForBvlcsTreeOfTwoAndFourGpus) {
  const ScalingOptions tree = Setting(Topology::kTree, "pcie3", "pcie3", 4, kWholeNet);
  const auto caffenet = PredictScaling(Times(CaffeNet(), 256, 810), tree, {2, 4});
  EXPECT_NEAR(caffenet[0].speedup, 1.77, 0.005);
  EXPECT_NEAR(caffenet[1].speedup, 3.18, 0.005);
  const auto googlenet = PredictScaling(Times(Even(22, 13'378'280), 64, 142), tree, {2, 4});
  EXPECT_NEAR(googlenet[0].speedup, 1.96, 0.005);
  EXPECT_NEAR(googlenet[1].speedup, 3.85, 0.005);
}

// Cho et al. 2017: ResNet-50 in Caffe on 64 nodes of 4 P100, 95 % of 64 times one node. The paper
// does not state whether gradients were summed during backward.
TEST(Published, ArePredictedForDdlOn256Gpus) {
  const RankTimes times = Times(ResNet({3, 4, 6, 3}), 32, 219);
  const auto over_a_node = [&](int64_t bucket_bytes) {
    const auto points = PredictScaling(
        times, Setting(Topology::kHierarchical, "nvlink1", "infiniband_edr", 4, bucket_bytes),
        {4, 256});
    return points[1].speedup / points[0].speedup / 64;
  };
  EXPECT_NEAR(over_a_node(4 * kMiB), 0.998, 0.0005);
  EXPECT_NEAR(over_a_node(kWholeNet), 0.904, 0.0005);
}

// Horovod, docs/benchmarks: 128 servers of 4 Pascal GPUs, 25 GbE with RoCE, NCCL's ring, fusion
// buffers of 64 MB; 90 % for Inception V3 and ResNet-101, 68 % for VGG-16.
TEST(Published, ArePredictedForHorovodOn512Gpus) {
  const auto efficiency = [](const RankTimes& times, const char* across) {
    return PredictScaling(times, Setting(Topology::kRing, "pcie3", across, 4, 64 * kMiB), {512})[0]
        .efficiency;
  };
  EXPECT_NEAR(efficiency(Times(Even(48, 23'834'568), 64, 142), "25gbe_roce"), 0.95, 0.005);
  EXPECT_NEAR(efficiency(Times(ResNet({3, 4, 23, 3}), 64, 103.6), "25gbe_roce"), 0.95, 0.005);
  EXPECT_NEAR(efficiency(Times(Vgg16(), 64, 154), "25gbe_roce"), 0.79, 0.005);
  // A network that would explain the 68 %: it reaches 77 % of the line rate of 3.125 GB/s.
  EXPECT_NEAR(efficiency(Times(Vgg16(), 64, 154), "4:2.4"), 0.68, 0.005);
}

}  // namespace
}  // namespace doppio
