// How a net hands out gradients while backward still runs: to the update, to the data-parallel
// reducer, or to nobody.
#ifndef DOPPIO_CORE_NET_RUN_GRADIENT_SINK_H_
#define DOPPIO_CORE_NET_RUN_GRADIENT_SINK_H_

namespace doppio {

class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // The gradient of ParamStore parameter `param` is complete for this pass, and the rest of
  // backward does not read the parameter. Called once per parameter that has one, in arena order,
  // from the thread that runs backward.
  virtual void Ready(int param) = 0;
  // Whether Ready(param) begins something of its own on the device (an exchange): then what
  // backward has asked of the device by then is not to be repeated as one with what follows.
  virtual bool BeginsAt(int /*param*/) const { return false; }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_GRADIENT_SINK_H_
