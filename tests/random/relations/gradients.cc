// The gradient of each parameter is the derivative of the loss, by central differences along one
// direction of the parameter, with the reference kernels in double.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "core/base/random.h"
#include "solvers/state/run_state.h"
#include "tests/random/divisible.h"
#include "tests/random/layer_row.h"
#include "tests/random/pruned.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

constexpr double kTolerance = 1e-6;  // relative to the sum of the magnitudes of all terms
// A step that is right for one curvature is too large for another.
constexpr double kSteps[] = {1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
// Quotients that differ by more than this part of the error are no derivative.
constexpr double kStable = 0.1;

// The gradients of some layers are those of Caffe and not the derivative (docs/reference.md).
bool HasNoDerivative(const LayerParameter& layer) {
  const unsigned excluded = LayerRow::kKinks | LayerRow::kJumps | LayerRow::kOutside;
  return (TraitsOfLayer(layer) & excluded) != 0 || layer.type() == "ContrastiveLoss" ||
         (layer.type() == "MVN" && layer.mvn_param().normalize_variance());
}

// Returns the edges from which a loss can be reached.
std::vector<bool> ReachLoss(const Graph& graph) {
  std::vector<bool> reach(graph.edges.size());
  for (size_t e = 0; e < reach.size(); ++e) reach[e] = graph.edges[e].loss_weight != 0;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool any = std::any_of(node.tops.begin(), node.tops.end(),
                                 [&](int top) { return reach[static_cast<size_t>(top)]; });
    for (const int bottom : node.bottoms) {
      if (any) reach[static_cast<size_t>(bottom)] = true;
    }
  }
  return reach;
}

// Returns true if the gradient is the derivative of the loss: no bottom without a gradient lies
// between a parameter and a loss, and no layer reads a loss, whose weight its reader then decides.
bool GradientsFlow(const Graph& graph) {
  const std::vector<bool> reach = ReachLoss(graph);
  // A parameter may learn by another of its users only.
  std::vector<bool> gradient(graph.params.size());
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.params.size(); ++i) {
      if (node.param_gradient[i]) gradient[static_cast<size_t>(node.params[i])] = true;
    }
  }
  std::vector<bool> learns(graph.edges.size());
  for (const Node& node : graph.nodes) {
    bool any = std::any_of(node.params.begin(), node.params.end(),
                           [&](int param) { return gradient[static_cast<size_t>(param)]; });
    const bool counts = std::any_of(node.tops.begin(), node.tops.end(),
                                    [&](int top) { return reach[static_cast<size_t>(top)]; });
    for (size_t b = 0; b < node.bottoms.size(); ++b) {
      const auto bottom = static_cast<size_t>(node.bottoms[b]);
      const bool flows = b < node.bottom_gradient.size() && node.bottom_gradient[b];
      if (counts && learns[bottom] && !flows) return false;
      any = any || learns[bottom];
    }
    for (const int top : node.tops) learns[static_cast<size_t>(top)] = any;
  }
  return !ReadsLoss(graph);
}

// Losses from here on may contain a probability that was cut, at 1e-20 or less.
constexpr double kCutLoss = 10;

// Returns true if a loss is so large that some of its probabilities may have been cut.
bool MayBeCut(const Net& net) {
  const Graph& graph = net.graph();
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const LayerParameter& layer = graph.layer(static_cast<int>(&node - graph.nodes.data())).param;
    if ((TraitsOfLayer(layer) & LayerRow::kCutsLogarithm) == 0) return false;
    const Edge& loss = graph.edges[static_cast<size_t>(node.tops[0])];
    if (loss.loss_weight == 0) return false;
    // The mean, times no less than the number of its terms.
    const auto terms =
        static_cast<double>(graph.edges[static_cast<size_t>(node.bottoms[0])].shape.count());
    return *net.Blob(loss.name).data<double>() * terms >= kCutLoss;
  });
}

// Computes losses of the first batch for changed parameters.
class Probe {
 public:
  explicit Probe(Trainer* trainer) : trainer_(trainer), net_(trainer->train_net()) {
    GetPosition(net_, &start_);
    Loss();
    net_.Backward(false);
    for (const Param& param : trainer->params().params()) {
      gradients_.push_back(param.gradient ? NumbersOf(param.grad, param.device)
                                          : std::vector<double>());
    }
  }

  // Returns what is wrong with the gradient of a parameter, or "".
  std::string Check(size_t index) {
    const Param& param = trainer_->params().params()[index];
    const std::vector<double>& gradient = gradients_[index];
    std::vector<double> direction;
    const Random random(1, Stream("direction", param.layer, param.index));
    double slope = 0, magnitude = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      direction.push_back(2 * static_cast<double>(random.Uniform(0, i)) - 1);
      slope += direction[i] * gradient[i];
      magnitude += std::abs(direction[i] * gradient[i]);
    }
    double before = std::nan(""), stable = std::nan("");
    for (const double step : kSteps) {
      const double ahead = LossAt(param, direction, step), behind = LossAt(param, direction, -step);
      const double quotient = (ahead - behind) / (2 * step);
      if (!std::isfinite(quotient)) return "";  // a loss near the limits of its function
      // The last bits of the losses divided by the step.
      const double rounding = 1e-13 * std::max(std::abs(ahead), std::abs(behind)) / step;
      const double error = std::abs(quotient - slope);
      if (error <= kTolerance * magnitude + rounding + 1e-9) return "";
      if (std::abs(quotient - before) <= kStable * error) stable = quotient;
      before = quotient;
    }
    if (std::isnan(stable) || MayBeCut(net_)) {
      ++ProcessTally().unproven;
      return "";
    }
    std::ostringstream text;
    text.precision(10);
    text << "parameter " << param.index << " of layer '" << param.layer << "': the loss rises by "
         << stable << " along a direction, but its gradient says " << slope;
    return text.str();
  }

 private:
  double Loss() {
    SetPosition(start_, &net_);
    return net_.Forward();
  }

  double LossAt(const Param& param, const std::vector<double>& direction, double step) {
    double* const values = param.value.data<double>();
    const std::vector<double> before(values, values + direction.size());
    for (size_t i = 0; i < direction.size(); ++i) values[i] += step * direction[i];
    const double loss = Loss();
    std::copy(before.begin(), before.end(), values);
    return loss;
  }

  Trainer* const trainer_;
  Net& net_;
  NetPosition start_;
  std::vector<std::vector<double>> gradients_;
};

std::string CheckGradients(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const std::optional<RandomCase> pruned = Pruned(random_case, &HasNoDerivative, folder);
  if (!pruned) return "";
  RandomCase once = StartOf(*pruned);
  // With several passes, backward keeps all gradients of parameters, and blocks of memory are
  // shared as usual.
  once.solver.set_iter_size(2);
  Way way;
  way.folder = folder;
  way.dtype = DType::kFloat64;
  way.engine = "reference";
  way.fusion = draw->Chance(0.7);
  way.threads = draw->Of<int>({1, 2, 3});
  std::string why;
  way.before = [&](Trainer* trainer) {
    if (!GradientsFlow(trainer->train_net().graph())) return;
    Probe probe(trainer);
    const auto& params = trainer->params().params();
    for (size_t i = 0; i < params.size() && why.empty(); ++i) {
      if (params[i].gradient && params[i].value.layout.plain()) why = probe.Check(i);
    }
  };
  Declined(Run(once, way));
  return why;
}

DOPPIO_REGISTER(Relations, "gradients", {&CheckGradients, &Always});

}  // namespace
}  // namespace doppio
