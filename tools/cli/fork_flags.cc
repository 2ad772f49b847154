#include "tools/cli/fork_flags.h"

#include <algorithm>
#include <array>

namespace doppio {
namespace {

constexpr const char* kRanks =
    "mpirun or srun starts the ranks, and all ranks take part in every update";
constexpr const char* kDetection =
    "set eval_type, ap_version and show_per_class_result in the solver instead";

constexpr ForkFlag kForkFlags[] = {
    {"ap_version", "NVCaffe", true, kDetection},
    {"bvlc", "IBM Caffe", false, "Doppio always reduces gradients during backward"},
    {"comm_threads", "Intel Caffe", true, kRanks},
    {"ddl", "IBM Caffe", true, kRanks},
    {"detection", "Intel Caffe", false, kDetection},
    {"forward_only", "Intel Caffe", false, "use --phase=TEST to time forward only"},
    {"listen_address", "Intel Caffe", true, kRanks},
    {"lms", "IBM Caffe", true, "use --offload to keep activations in host memory"},
    {"lms_frac", "IBM Caffe", true, "use --offload to keep activations in host memory"},
    {"n_group", "Intel Caffe", true, kRanks},
    {"n_server", "Intel Caffe", true, kRanks},
    {"param_server", "Intel Caffe", true, kRanks},
    {"show_per_class_result", "NVCaffe", false, kDetection},
    {"threshold", "IBM Caffe", true, "use --bucket_mb to set the size of a reduction"},
};

constexpr std::array<const char*, 19> kCaffeFlags = {
    "gpu",     "solver",       "model",         "phase",         "level",
    "stage",   "snapshot",     "weights",       "iterations",    "gray",
    "shuffle", "backend",      "check_size",    "sigint_effect", "sighup_effect",
    "encoded", "resize_width", "resize_height", "encode_type"};

}  // namespace

bool IsCaffeFlag(const std::string& name) {
  return std::find(kCaffeFlags.begin(), kCaffeFlags.end(), name) != kCaffeFlags.end();
}

const ForkFlag* FindForkFlag(const std::string& name) {
  for (const ForkFlag& flag : kForkFlags) {
    if (name == flag.name) return &flag;
  }
  return nullptr;
}

bool IsForkEngine(const std::string& value) {
  return value == "CAFFE" || value == "MKL2017" || value.compare(0, 6, "MKLDNN") == 0;
}

}  // namespace doppio
