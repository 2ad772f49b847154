// The interface through which a net passes on gradients while backward is still running: to the
// update or to the data-parallel reducer.
#ifndef DOPPIO_CORE_NET_CONTRACT_GRADIENT_SINK_H_
#define DOPPIO_CORE_NET_CONTRACT_GRADIENT_SINK_H_

#include <cstdint>

namespace doppio {

// Gets notified of each complete gradient.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // Reports that the gradient of ParamStore parameter `param` is complete for this pass, and that
  // the rest of backward does not read the parameter. Called once for each parameter with a
  // gradient, in arena order, by the thread that runs backward.
  virtual void Ready(int param) = 0;
  // Reports that stored elements [begin, end) of the gradient of `param` are complete, at the
  // beginning of the gradient's memory, which the next slice overwrites. The rest of backward does
  // not read these elements of the parameter. Called before Ready(param), in order, for all
  // elements of a gradient with Param::grad_slice.
  virtual void ReadySlice(int /*param*/, int64_t /*begin*/, int64_t /*end*/) {}
  // Returns true if Ready(param) starts separate work on the device (an exchange). The recording of
  // backward's work must then end before that call.
  virtual bool BeginsAt(int /*param*/) const { return false; }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_GRADIENT_SINK_H_
