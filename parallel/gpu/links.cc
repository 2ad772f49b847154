#include "parallel/gpu/links.h"

#include <cmath>
#include <cstdlib>
#include <optional>

#include "core/base/error.h"
#include "core/base/text/nearest.h"

namespace doppio {
namespace {

constexpr double kNvlinkUs = 1.9, kPcieUs = 2.5, kNetUs = 4.0, kTenGigabitTcpUs = 20,
                 kGigabitTcpUs = 35;
constexpr double kTcpShare = 1448.0 / 1538.0, kRdmaShare = 0.96;

constexpr double Gbit(double gbits, double share) { return gbits / 8 * share; }

// Parses two or three numbers separated by colons, each in a Link's valid range.
std::optional<Link> LinkOfNumbers(const std::string& text) {
  std::vector<double> numbers;
  for (const char* at = text.c_str();; ++at) {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at || !std::isfinite(numbers.back()) || numbers.back() < 0) return std::nullopt;
    at = end;
    if (*at == 0) break;
    if (*at != ':') return std::nullopt;
  }
  if (numbers.size() < 2 || numbers.size() > 3 || numbers[1] == 0) return std::nullopt;
  return Link{numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 0};
}

}  // namespace

const std::vector<LinkPreset>& LinkPresets() {
  static const std::vector<LinkPreset> presets = {
      {"nvlink1", {kNvlinkUs, 18.0}, "P100, one of its links"},
      {"nvlink2", {kNvlinkUs, 6 * 20.0}, "V100, all 6 links"},
      {"nvlink3", {kNvlinkUs, 12 * 20.0}, "A100, all 12 links"},
      {"nvlink4", {kNvlinkUs, 18 * 20.6}, "H100, all 18 links"},
      {"pcie3", {kPcieUs, 12.0}, "PCI Express 3.0 x16"},
      {"pcie4", {kPcieUs, 24.0}, "PCI Express 4.0 x16"},
      {"pcie5", {kPcieUs, 48.0}, "PCI Express 5.0 x16"},
      {"infiniband_fdr", {kNetUs, Gbit(54.54, kRdmaShare)}, "4 lanes, 54.54 Gbit/s after encoding"},
      {"infiniband_edr", {kNetUs, Gbit(100, kRdmaShare)}, "4 lanes, 100 Gbit/s"},
      {"infiniband_hdr", {kNetUs, Gbit(200, kRdmaShare)}, "4 lanes, 200 Gbit/s"},
      {"infiniband_ndr", {kNetUs, Gbit(400, kRdmaShare)}, "4 lanes, 400 Gbit/s"},
      {"1gbe", {kGigabitTcpUs, Gbit(1, kTcpShare)}, "Ethernet by TCP"},
      {"10gbe", {kTenGigabitTcpUs, Gbit(10, kTcpShare)}, "Ethernet by TCP"},
      {"25gbe", {kTenGigabitTcpUs, Gbit(25, kTcpShare)}, "Ethernet by TCP, latency of 10gbe"},
      {"100gbe", {kTenGigabitTcpUs, Gbit(100, kTcpShare)}, "Ethernet by TCP, latency of 10gbe"},
      {"25gbe_roce", {kNetUs, Gbit(25, kTcpShare)}, "Ethernet by RDMA, bandwidth of TCP"},
      {"100gbe_roce", {kNetUs, Gbit(100, kTcpShare)}, "Ethernet by RDMA, bandwidth of TCP"},
  };
  return presets;
}

Link ParseLink(const std::string& flag, const std::string& text) {
  std::vector<std::string> names;
  std::string list;
  for (const LinkPreset& preset : LinkPresets()) {
    if (text == preset.name) return preset.link;
    names.push_back(preset.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const std::optional<Link> link = LinkOfNumbers(text);
  if (link) return *link;
  throw UsageError("--", flag,
                   " must be the name of a link or LATENCY_US:GBYTES_PER_S such as 5:11, got '",
                   text, "'", DidYouMean(text, names), "\nnames: ", list);
}

}  // namespace doppio
