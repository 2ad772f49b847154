// What one message costs between two ranks: latency, and bytes per second. Presets for links that
// people have.
//
// Where the numbers come from. GPUs, InfiniBand, RoCE: NCCL's own cost model. Its src/graph/topo.h
// has the GB/s per NVLink (SM60_NVLINK_BW 18 ... SM90_NVLINK_BW 20.6), of PCIe 3.0 x16 (PCI_BW 12)
// and of 100 Gbit/s (NET_BW 12, which is 96 %, taken for the other InfiniBands too); its
// src/graph/tuning.cc the latency of one step of a ring (hwLat: 1.9 us NVLink, 2.5 PCIe, 4.0
// network), here for the LL128 protocol, the one that is quick and wide at once. Ethernet by TCP:
// of 1538 bytes that a full frame takes on the wire 1448 are data; 20 us end to end on 10 GbE by
// Hurwitz and Feng, "Initial End-to-End Performance Evaluation of 10-Gigabit Ethernet" (Hot
// Interconnects 2003), 35 us on 1 GbE with default interrupt coalescence by NW-GRID Liverpool,
// "Gigabit Ethernet MPI Performance Tests". Numbers measured on the machine itself are better.
#ifndef DOPPIO_PARALLEL_GPU_LINKS_H_
#define DOPPIO_PARALLEL_GPU_LINKS_H_

#include <string>
#include <vector>

namespace doppio {

struct Link {
  double latency_us = 0;    // of one message, however short
  double gbytes_per_s = 0;  // 1e9 bytes, in one direction
  // What a rank's computing loses to the copies of 1e9 bytes sent while as many arrive. TCP is
  // carried by the cores that compute; RDMA and NVLink cost them next to nothing.
  double held_up_ms_per_gbyte = 0;
};

struct LinkPreset {
  const char* name;
  Link link;
  const char* what;  // "A100, 12 links"
};

// By name, and within a kind from slow to fast.
const std::vector<LinkPreset>& LinkPresets();

// A preset's name, or LATENCY_US:GBYTES_PER_S, or these with :HELD_UP_MS_PER_GBYTE behind. Throws
// UsageError that names `flag` and the presets.
Link ParseLink(const std::string& flag, const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_LINKS_H_
