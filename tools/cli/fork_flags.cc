#include "tools/cli/fork_flags.h"

namespace doppio {
namespace {

constexpr const char* kRanks =
    "ranks are those of mpirun or srun, and every iteration is one update of all of them";
constexpr const char* kDetection =
    "the solver's fields eval_type, ap_version and show_per_class_result say it";

constexpr ForkFlag kForkFlags[] = {
    {"ap_version", "NVCaffe", true, kDetection},
    {"bvlc", "IBM Caffe", false, "gradients are reduced while backward goes on"},
    {"comm_threads", "Intel Caffe", true, kRanks},
    {"ddl", "IBM Caffe", true, kRanks},
    {"detection", "Intel Caffe", false, kDetection},
    {"forward_only", "Intel Caffe", false, "--phase=TEST times forward alone"},
    {"listen_address", "Intel Caffe", true, kRanks},
    {"lms", "IBM Caffe", true, "--offload lets activations wait in host memory"},
    {"lms_frac", "IBM Caffe", true, "--offload lets activations wait in host memory"},
    {"n_group", "Intel Caffe", true, kRanks},
    {"n_server", "Intel Caffe", true, kRanks},
    {"param_server", "Intel Caffe", true, kRanks},
    {"show_per_class_result", "NVCaffe", false, kDetection},
    {"threshold", "IBM Caffe", true, "gradients are reduced in buckets"},
};

}  // namespace

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
