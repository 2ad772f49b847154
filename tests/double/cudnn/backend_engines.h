// The engines of the double of cuDNN's backend: which graphs each of them takes, its notes, knobs,
// workspace and numerics. They stand for the sorts of engines of cuDNN 9 that a program must tell
// apart, not for particular ones.
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
  kUnsteady,  // sums in single precision in an order that differs from run to run
  kCoarse,    // factors or partial sums of few bits: a program that takes such an engine is wrong
};

struct BackendEngine {
  const char* what;
  bool plain, fused;            // takes a convolution alone, one with operations behind it
  bool widens;                  // takes filter gradients in floats of 16-bit factors
  bool any_channels;            // else multiples of 8 only
  bool backward_only, refused;  // `refused`: no plan of it is ever made
  Numerics numerics;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  std::vector<Knob> knobs;
  int64_t (*workspace)(const BackendGraph& graph, const KnobChoices& choices);
};

// By global index.
const std::vector<BackendEngine>& BackendEngines();

// Empty, or why the engine does not take the graph.
std::string WhyNot(const BackendEngine& engine, const BackendGraph& graph);
// The value of each of the engine's knobs: as chosen, or its least one.
KnobChoices Complete(const BackendEngine& engine, const KnobChoices& chosen);

struct BackendAdvice {
  int64_t engine;
  KnobChoices choices;
};
// Configurations of engines that take the graph, best advice first. With the handle of a device,
// their order depends on the seed: no program may rely on it. Without one it is always the same.
std::vector<BackendAdvice> Advise(const BackendGraph& graph, cudnnBackendHeurMode_t mode,
                                  bool for_device);

// Random refusals (settings: refuse) of plans for a device that is there. The same question gets
// the same answer throughout a process.
//
// True when all engines refuse the graph: often with a tail and for filter gradients in floats,
// rarely else. Programs have other ways to compute any of them.
bool RefusedByAll(const BackendGraph& graph);
// Success, or the status with which the plan of an engine that takes the graph is refused.
cudnnStatus_t RefusedAtRandom(int64_t engine, const BackendGraph& graph);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_ENGINES_H_
