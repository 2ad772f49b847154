// Marks a function that nvcc compiles for both host and device.
#ifndef DOPPIO_CORE_BASE_HOST_DEVICE_H_
#define DOPPIO_CORE_BASE_HOST_DEVICE_H_

#ifdef __CUDACC__
#define DOPPIO_HD __host__ __device__
#else
#define DOPPIO_HD
#endif

#endif  // DOPPIO_CORE_BASE_HOST_DEVICE_H_
