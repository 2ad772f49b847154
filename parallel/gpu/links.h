// The cost of one message between two ranks (latency and bandwidth), with presets for common links.
//
// Sources of the numbers. GPUs, InfiniBand, RoCE: NCCL's own cost model. NCCL's src/graph/topo.h
// has the GB/s per NVLink (SM60_NVLINK_BW 18 ... SM90_NVLINK_BW 20.6), of PCIe 3.0 x16 (PCI_BW 12)
// and of 100 Gbit/s (NET_BW 12, which is 96 %; the other InfiniBand presets assume the same share).
// NCCL's src/graph/tuning.cc has the latency of one step of a ring (hwLat: 1.9 us NVLink, 2.5 PCIe,
// 4.0 network); these are the values of the LL128 protocol, which combines low latency with high
// bandwidth. Ethernet with TCP: 1448 of the 1538 bytes of a full frame on the wire are data. The
// latency is 20 us end to end on 10 GbE (Hurwitz and Feng, "Initial End-to-End Performance
// Evaluation of 10-Gigabit Ethernet", Hot Interconnects 2003) and 35 us on 1 GbE with default
// interrupt coalescence (NW-GRID Liverpool, "Gigabit Ethernet MPI Performance Tests"). Numbers
// measured on the machine itself are better.
#ifndef DOPPIO_PARALLEL_GPU_LINKS_H_
#define DOPPIO_PARALLEL_GPU_LINKS_H_

#include <string>
#include <vector>

namespace doppio {

struct Link {
  double latency_us = 0;    // latency of one message of any size
  double gbytes_per_s = 0;  // 1e9 bytes, in one direction
  // Time that a rank's computing loses to the copies while it sends and receives 1e9 bytes each.
  // TCP occupies the cores that compute; RDMA and NVLink cost them almost nothing.
  double held_up_ms_per_gbyte = 0;
};

struct LinkPreset {
  const char* name;
  Link link;
  const char* what;  // "A100, 12 links"
};

// Returns the presets by kind of link, each kind from slow to fast.
const std::vector<LinkPreset>& LinkPresets();

// Parses a preset's name, LATENCY_US:GBYTES_PER_S, or LATENCY_US:GBYTES_PER_S:HELD_UP_MS_PER_GBYTE.
// Throws UsageError that names `flag` and the presets.
Link ParseLink(const std::string& flag, const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_LINKS_H_
