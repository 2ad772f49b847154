// Chooses the kernel of a layer among all that may compute it, alone or together with layers after
// it.
#include <algorithm>

#include "core/base/threads.h"
#include "core/net/plan/host_kernel.h"
#include "core/net/plan/param_copies.h"
#include "core/net/plan/plan_draft.h"
#include "core/net/plan/wide_kernel.h"

namespace doppio {
namespace {

// A kernel for a unit.
struct Way {
  UnitCase* layers = nullptr;
  const KernelType* type = nullptr;
  bool converts = false;  // computes on widened copies of tensors that are stored in 16 bits

  // Returns the arguments that the kernel gets.
  KernelArgs seen() const { return converts ? Widened(layers->args) : layers->args; }
  std::string Name() const {
    return type->engine + (layers->unit.chain.empty() ? "" : " for " + layers->unit.type) +
           (converts && type->narrow ? " on widened copies" : "");
  }
};

class UnitChooser {
 public:
  UnitChooser(const Draft& draft, bool rows_vary, std::vector<UnitCase> cases)
      : draft_(draft), rows_vary_(rows_vary), cases_(std::move(cases)) {
    for (UnitCase& layers : cases_) {
      layers.args.form = &layers.unit.shape.form;
      layers.args.chain = layers.unit.chain.empty() ? nullptr : &layers.unit.chain;
      layers.args.choices = &noted_;
      AddWays(&layers);
    }
  }

  Unit Make(Plan* plan) {
    const UnitCase& alone = cases_.back();
    const LayerSpec& spec = draft_.graph->layer(alone.unit.head());
    const ThreadCount threads(alone.args.device->properties.threads);
    try {
      return MakeFirst(alone, plan);
    } catch (const Error& e) {
      if (e.at().known()) throw;
      RethrowWithContext(e, spec.At(), "layer '" + spec.name() + "'");
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      throw Error(ExitCode::kBug, spec.At(),
                  "internal error: " + draft_.graph->Describe(alone.unit.head()) + ": " + e.what());
    }
  }

 private:
  // Returns the kernels that may compute the unit, best first: those of the preferred engine, then
  // the others by falling rank.
  std::vector<const KernelType*> KernelsFor(const Unit& unit, const std::string& device) const {
    const KernelTypes& registry = KernelTypes::Get();
    std::vector<const KernelType*> types = registry.For(unit.type, device);
    const auto preferred = [&](const KernelType* type) {
      return type->engine == draft_.options.engine;
    };
    const auto others = std::stable_partition(types.begin(), types.end(), preferred);
    // Another engine's chain must not take a layer from the preferred engine.
    const bool takes = std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](int node) {
      const auto single = registry.For(draft_.graph->layer(node).type(), device);
      return std::any_of(single.begin(), single.end(), preferred);
    });
    if (takes && !unit.chain.empty()) types.erase(others, types.end());
    return types;
  }

  // Adds the kernels of a unit, best first. A narrow kernel that declines 16-bit tensors may
  // compute on widened copies, unless a kernel of a lower rank reads the tensors themselves.
  void AddWays(UnitCase* layers) {
    const Device& device = *layers->args.device;
    const bool narrow = HasNarrowEdges(layers->args);
    std::vector<Way> on_copies;
    const auto add_copies = [&] {
      ways_.insert(ways_.end(), on_copies.begin(), on_copies.end());
      on_copies.clear();
    };
    for (const KernelType* type : KernelsFor(layers->unit, device.kind())) {
      if (!type->narrow) add_copies();
      ways_.push_back({layers, type, narrow && !type->narrow});
      if (narrow && type->narrow) on_copies.push_back({layers, type, true});
    }
    add_copies();
    if (layers->unit.chain.empty() && !device.properties.host_memory)
      ways_.push_back({layers, &HostKernelType(), narrow});
  }

  // Returns why a kernel cannot compute its unit, or "" if it can. `on_host` is set to the kernel
  // of the host.
  std::string WhyNot(const Way& way, std::unique_ptr<Kernel>* on_host) {
    noted_.clear();
    if (way.type == &HostKernelType()) {
      *on_host = MakeHostKernel(way.seen(), way.layers->unit.shape);
      return *on_host == nullptr ? "it has no plain kernel" : "";
    }
    if (rows_vary_ && way.type->engine != "reference") return "the number of rows varies";
    return way.type->declines == nullptr ? "" : way.type->declines(way.seen());
  }

  // Makes the first of the kernels that does not decline. Throws if all decline.
  Unit MakeFirst(const UnitCase& alone, Plan* plan) {
    const int n = alone.unit.head();
    std::unique_ptr<Kernel> on_host;
    std::vector<Candidate> candidates;
    for (const Way& way : ways_) {
      const auto place = static_cast<double>(candidates.size());
      candidates.push_back({way.Name(), place, [this, place, &way, &on_host] {
                              return CandidateTrial{WhyNot(way, &on_host), place, ""};
                            }});
    }
    const CandidateChoice choice = ChooseAmong("kernel", candidates);
    if (choice.chosen < 0) {
      const auto single = std::find_if(ways_.begin(), ways_.end(),
                                       [&](const Way& way) { return way.layers == &alone; });
      const std::string declined = choice.Declined(static_cast<size_t>(single - ways_.begin()));
      throw draft_.graph->layer(n).Mistake(
          "type", "no kernel computes this " + alone.args.type + " layer in " +
                      Name(alone.args.dtype) + " on the " + alone.args.device->kind() +
                      (declined.empty() ? "" : " (" + declined + ")"));
    }
    const Way& way = ways_[choice.chosen];
    // A kernel that measures has measured when it was asked whether it declines.
    std::vector<CandidateChoice>& choices = plan->choices[n] = std::move(noted_);
    noted_.clear();
    std::unique_ptr<Kernel> kernel =
        on_host != nullptr ? std::move(on_host) : way.type->make(way.seen());
    if (choices.empty()) choices = std::move(noted_);
    choices.insert(choices.begin(), choice);
    if (way.converts)
      kernel = MakeWideKernel(way.layers->args, way.layers->unit.shape, std::move(kernel));
    plan->kernels[n] = WithParamCopies(way.layers->args, std::move(kernel));
    plan->kernel_types[n] = way.type;
    return std::move(way.layers->unit);
  }

  const Draft& draft_;
  const bool rows_vary_;
  std::vector<UnitCase> cases_;
  std::vector<Way> ways_;
  std::vector<CandidateChoice> noted_;  // by the kernel that was asked or made last
};

}  // namespace

Unit MakeUnitKernel(const Draft& draft, bool rows_vary, std::vector<UnitCase> cases, Plan* plan) {
  return UnitChooser(draft, rows_vary, std::move(cases)).Make(plan);
}

}  // namespace doppio
