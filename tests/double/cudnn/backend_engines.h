// The engines of the double of cuDNN's backend: the graphs that each engine supports, and its
// notes, knobs, workspace and numerics. The engines represent the kinds of engines in cuDNN 9 that
// a program must distinguish, not specific ones.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_ENGINES_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_ENGINES_H_

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/double/cudnn/backend_graph.h"

namespace doppio::gpu_double {

struct Knob {
  cudnnBackendKnobType_t type;
  int64_t least, most, stride;
};
using KnobChoices = std::map<cudnnBackendKnobType_t, int64_t>;

enum class Numerics {
  kExact,     // sums in single precision
  kUnsteady,  // sums in single precision, in an order that differs from run to run
  // Factors or partial sums have few bits. Programs must not use such an engine.
  kCoarse,
};

struct BackendEngine {
  const char* what;
  bool plain, fused;            // supports a convolution alone; one followed by other operations
  bool widens;                  // supports float gradients of filters from 16-bit factors
  bool any_channels;            // false: multiples of 8 only
  bool backward_only, refused;  // `refused`: making a plan always fails
  Numerics numerics;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  std::vector<Knob> knobs;
  int64_t (*workspace)(const BackendGraph& graph, const KnobChoices& choices);
};

// Returns all engines. The position of an engine is its global index.
const std::vector<BackendEngine>& BackendEngines();

// Returns the reason why the engine does not support the graph, or "" if it does.
std::string WhyNot(const BackendEngine& engine, const BackendGraph& graph);
// Returns a value for each of the engine's knobs: the chosen value, or else the smallest one.
KnobChoices Complete(const BackendEngine& engine, const KnobChoices& chosen);

struct BackendAdvice {
  int64_t engine;
  KnobChoices choices;
};
// Returns configurations of engines that support the graph, best first. With a device handle, the
// order depends on the seed, so that no program can rely on it. Without a handle, the order is
// always the same.
std::vector<BackendAdvice> Advise(const BackendGraph& graph, cudnnBackendHeurMode_t mode,
                                  bool for_device);

// Random refusals (settings: refuse) of plans for a real device. The same question gets the same
// answer throughout a process.
//
// Returns true if all engines refuse the graph: often with a tail and for filter gradients in
// floats, and otherwise rarely. Programs have other ways to compute these graphs.
bool RefusedByAll(const BackendGraph& graph);
// Returns success, or the status with which the plan of an engine that supports the graph is
// refused.
cudnnStatus_t RefusedAtRandom(int64_t engine, const BackendGraph& graph);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_ENGINES_H_
