// The name under which CUDA's backend registers all that it offers: Device::kind() of its devices.
#ifndef DOPPIO_CORE_DEVICE_KIND_CUDA_H_
#define DOPPIO_CORE_DEVICE_KIND_CUDA_H_

namespace doppio {

constexpr char kCudaKind[] = "CUDA";

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_KIND_CUDA_H_
