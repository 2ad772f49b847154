// The update passes over the arenas of all devices. They hide in which arena, and at which slice, a
// parameter of the store is. The slices of an arena are its parameters (ParamArena::params).
#ifndef DOPPIO_SOLVERS_UPDATE_ARENA_PASSES_H_
#define DOPPIO_SOLVERS_UPDATE_ARENA_PASSES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/net/store/params.h"
#include "solvers/update/apply.h"
#include "solvers/update/solver_history.h"

namespace doppio {

// Not thread-safe.
class ArenaPasses {
 public:
  // Must be constructed after the store's Allocate. `rule` is an index into Rules. `params` and the
  // memory of `history` must outlive the passes. If ranks divide the update, they call Run,
  // SumSquares and GradientsFinite together.
  ArenaPasses(ParamStore* params, size_t rule, const SolverHistory& history,
              const SharedUpdate& shared);

  // Updates all parameters. The gradients must not share memory.
  void Run(const UpdateInputs& inputs);
  // Updates one parameter of the store, or stored elements [begin, end) of one, whose gradients are
  // at the beginning of its gradient's memory.
  void RunParam(const UpdateInputs& inputs, int param);
  void RunSlice(const UpdateInputs& inputs, int param, int64_t begin, int64_t end);
  // Updates the parameters that have no gradient.
  void RunWithoutGradient(const UpdateInputs& inputs);

  // As in UpdatePass, on all devices.
  void Average(double share, bool decided);
  void SwapAverage();

  // Returns the sum of the squares of all gradients.
  double SumSquares();
  // Returns true if all gradients are finite.
  bool GradientsFinite();
  // Returns a parameter of the store in which an update of this rank has left non-finite values, or
  // nullopt. The layer's outputs may still be finite, because ReLU hides NaN where oneDNN computes
  // it.
  std::optional<int> NonFiniteParam() const;

  // Returns the pass of the store's device if one device computes, asynchronously, or null.
  UpdatePass* asynchronous() const;

 private:
  // The parameters of one device.
  struct Part {
    std::unique_ptr<UpdatePass> pass;
    std::vector<std::pair<size_t, size_t>> without_gradient;  // ranges of slices
  };

  void Synchronize() const;
  Part MakePart(size_t arena, size_t rule, const SolverHistory& history,
                const SharedUpdate& shared);
  std::vector<UpdateSlice> MakeSlices(size_t arena, Part* part);  // also fills slice_of_

  ParamStore* const params_;
  std::vector<Part> parts_;       // by arena of the store
  std::vector<size_t> slice_of_;  // by parameter of the store
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_ARENA_PASSES_H_
