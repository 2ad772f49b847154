#include "tests/random/oracle_dump.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "core/base/error.h"
#include "tests/random/layer_row.h"
#include "tests/random/outcome.h"

namespace doppio {
namespace {

constexpr int64_t kMostUpdates = 3;

// Returns true if the oracle takes the tops of the layer from the dump: data, random numbers, and
// layers that it does not compute.
bool IsGiven(const Graph& graph, int node) {
  const LayerShape& shape = graph.nodes[node].shape;
  if (graph.nodes[node].bottoms.empty() || !shape.has_backward) return true;
  const LayerRow* row = LayerRows::Get().Find(graph.layer(node).param.type());
  return row != nullptr && (row->traits & LayerRow::kRandom) != 0;
}

// The arrays of a dump.
class Arrays {
 public:
  // `name` is a layer, or "" for arrays of the whole net.
  void Add(const std::string& kind, int64_t step, int64_t index, const Shape& shape,
           const std::string& name, const std::vector<double>& values) {
    table_ += kind + " " + std::to_string(step) + " " + std::to_string(index) + " ";
    std::string extents;
    for (const int64_t extent : shape.dims())
      extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    table_ += (extents.empty() ? "-" : extents) + " " + name + "\n";
    values_.insert(values_.end(), values.begin(), values.end());
  }

  void Write(const std::string& folder) const {
    std::ofstream table(folder + "/arrays.txt"), values(folder + "/arrays.f64", std::ios::binary);
    table << table_;
    values.write(reinterpret_cast<const char*>(values_.data()),
                 static_cast<std::streamsize>(values_.size() * sizeof(double)));
    DOPPIO_CHECK(table.flush() && values.flush(), "cannot write to " + folder);
  }

 private:
  std::string table_;
  std::vector<double> values_;
};

// Trains a net pass by pass and notes what it computes.
class DumpRun {
 public:
  explicit DumpRun(Trainer* trainer) : trainer_(*trainer), net_(trainer->train_net()) {}

  // Returns false if a loss is not finite.
  bool Train() {
    const Schedule& schedule = trainer_.parts().run.schedule;
    const int64_t max_iter = schedule.max_iter, passes = schedule.iter_size;
    arrays_.Add("max_iter", 0, 0, Shape(), "", {static_cast<double>(max_iter)});
    AddWeights(0);
    for (int64_t update = 0; update < std::min(max_iter, kMostUpdates); ++update) {
      for (int64_t pass = 0; pass < passes; ++pass) {
        const double loss = net_.Forward();
        if (!std::isfinite(loss)) return false;
        net_.Backward(pass > 0);
        AddPass(update * passes + pass, loss);
      }
      trainer_.ApplyUpdate();
      AddWeights(update + 1);
    }
    return true;
  }

  const Arrays& arrays() const { return arrays_; }

 private:
  void AddTensor(const std::string& kind, int64_t step, int64_t index, const std::string& name,
                 const Tensor& tensor) {
    if (!tensor) return;
    arrays_.Add(kind, step, index, tensor.shape, name,
                NumbersOf(tensor, trainer_.params().device()));
  }

  void AddPass(int64_t pass, double loss) {
    const Graph& graph = net_.graph();
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      const Edge& edge = graph.edges[i];
      const auto given = [&](const Use& use) { return IsGiven(graph, use.node); };
      const bool made = IsGiven(graph, edge.producer);
      const bool read = std::any_of(edge.uses.begin(), edge.uses.end(), given);
      const std::string& layer = graph.layer(edge.producer).param.name();
      if (pass == 0 || made) AddTensor("top", pass, edge.top, layer, net_.plan().values[i]);
      if (pass == 0 || made || read)
        AddTensor("top_grad", pass, edge.top, layer, net_.plan().grads[i]);
    }
    arrays_.Add("loss", pass, 0, Shape(), "", {loss});
    if (pass > 0) return;
    for (const Param& param : trainer_.params().params()) {
      if (param.gradient) AddTensor("param_grad", 0, param.index, param.layer, param.grad);
    }
  }

  void AddWeights(int64_t updates) {
    for (const Param& param : trainer_.params().params())
      AddTensor("param", updates, param.index, param.layer, param.value);
  }

  Trainer& trainer_;
  Net& net_;
  Arrays arrays_;
};

// Removes what changes no number of the dump, except that a loss scale changes the gradients of
// blobs.
RandomCase WithoutTests(RandomCase random_case) {
  random_case.net.clear_global_grad_scale();
  random_case.net.clear_global_grad_scale_adaptive();
  SolverParameter& solver = random_case.solver;
  solver.clear_test_net();
  solver.clear_test_net_param();
  solver.clear_test_state();
  solver.clear_test_iter();
  solver.clear_test_interval();
  solver.clear_test_epoch();
  solver.set_test_initialization(false);
  solver.set_test_last(false);
  return random_case;
}

// Returns true if the train net of the case has a graph.
bool HasGraph(const RandomCase& random_case, const Way& way) {
  try {
    GraphOfCase(WriteCase(random_case, way), TRAIN);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Returns the blobs that depend on other blobs and that no layer with a gradient reads.
std::vector<std::string> EndsOf(const Graph& graph) {
  std::vector<std::string> ends;
  for (const Edge& edge : graph.edges) {
    const auto has_gradient = [&](const Use& use) {
      const Node& node = graph.nodes[use.node];
      return node.shape.has_backward && !node.tops.empty();
    };
    const Node& producer = graph.nodes[edge.producer];
    if (!edge.name.empty() && edge.loss_weight == 0 && producer.shape.has_backward &&
        !producer.bottoms.empty() && std::none_of(edge.uses.begin(), edge.uses.end(), has_gradient))
      ends.push_back(edge.name);
  }
  return ends;
}

// Adds a loss of a blob. Its gradient is different for each element and never vanishes.
void AddLoss(const std::string& blob, NetParameter* net) {
  const std::string name = "loss of " + blob;
  LayerParameter* layer = net->add_layer();
  layer->set_name(name + " 1");
  layer->set_type("Swish");
  layer->add_bottom(blob);
  layer->add_top(name + " 1");
  layer = net->add_layer();
  layer->set_name(name);
  layer->set_type("Reduction");
  layer->add_bottom(name + " 1");
  layer->add_top(name);
  layer->add_loss_weight(0.1f);
}

// Adds losses of the blobs that no loss depends on, where possible, so that all layers have
// gradients to compare.
RandomCase WithLosses(const RandomCase& random_case, const Way& way) {
  if (!HasGraph(random_case, way)) return random_case;
  const std::vector<std::string> ends = EndsOf(GraphOfCase(WriteCase(random_case, way), TRAIN));
  RandomCase all = random_case;
  for (const std::string& blob : ends) AddLoss(blob, &all.net);
  if (HasGraph(all, way)) return all;
  RandomCase some = random_case;
  for (const std::string& blob : ends) {
    RandomCase more = some;
    AddLoss(blob, &more.net);
    if (HasGraph(more, way)) some = more;
  }
  return some;
}

}  // namespace

bool DumpForOracle(const RandomCase& random_case, const std::string& folder) {
  Way way;
  way.folder = folder;
  way.dtype = DType::kFloat64;
  way.engine = "reference";
  way.iterations = static_cast<int>(kMostUpdates);
  way.keep_all = true;
  bool finite = false;
  Arrays arrays;
  way.before = [&](Trainer* trainer) {
    DumpRun run(trainer);
    finite = run.Train();
    arrays = run.arrays();
  };
  const Outcome outcome = Run(WithLosses(WithoutTests(random_case), way), way);
  if (!outcome.refused.empty() || !finite) return false;
  arrays.Write(folder);
  return true;
}

}  // namespace doppio
