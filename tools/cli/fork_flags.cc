#include "tools/cli/fork_flags.h"

#include <algorithm>
#include <array>

#include "tools/cli/word_list.h"

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

struct OtherCommand {
  const char* words;  // separated by spaces
  const char* meant;
};

constexpr OtherCommand kOtherCommands[] = {
    {"predict infer inference", "classify"},
    {"eval evaluate val validate validation score", "test"},
    {"fit run finetune", "train"},
    {"benchmark bench profile", "time"},
    {"tune hpo tuner", "sweep run"},
    {"convert", "data convert"},
    {"info describe", "summary"},
    {"plot visualize", "report"},
    {"download fetch", "get"},
    {"new create", "init"},
    {"lint verify", "check"},
};

struct OtherFlag {
  const char* names;  // separated by spaces, with '_' for '-'
  const char* flag;   // that a command must have
  const char* meant;
};

// The first row that fits counts: "output" is another flag for classify than for train.
constexpr OtherFlag kOtherFlags[] = {
    {"lr lr0 learning_rate initial_lr init_lr", "set", "--set base_lr=..."},
    {"lr_scheduler scheduler sched lr_schedule", "set", "--set lr_policy=..."},
    {"epochs max_epochs num_epochs num_train_epochs n_epochs", "epochs", "--epochs"},
    {"epochs max_epochs num_epochs num_train_epochs n_epochs", "set", "--set max_epoch=..."},
    {"iters max_steps max_iters steps num_steps", "set", "--set max_iter=..."},
    {"optimizer optim opt", "set", "--set type=..."},
    {"wd", "set", "--set weight_decay=..."},
    {"warmup_epochs warmup_steps warmup_iters warmup", "set", "--set warmup_iter=..."},
    {"clip_grad gradient_clip_val grad_clip max_grad_norm clipnorm", "set",
     "--set clip_gradients=..."},
    {"accumulate accumulate_grad_batches gradient_accumulation_steps accum_iter", "set",
     "--set iter_size=..."},
    {"save_period save_every save_freq save_interval save_steps checkpoint_interval", "set",
     "--set snapshot=..."},
    {"val_interval eval_interval eval_steps val_check_interval check_val_every_n_epoch", "set",
     "--set test_interval=..."},
    {"log_interval log_every_n_steps log_freq print_freq logging_steps", "set",
     "--set display=..."},
    {"device devices use_gpu accelerator gpu_ids", "gpu", "--gpu"},
    {"num_gpus ngpus ngpu n_gpu nproc_per_node world_size", "gpu", "--gpu=0,1"},
    {"batch_size bs bsz train_batch_size per_device_train_batch_size", "batch", "--batch"},
    {"config cfg conf yaml config_file hyp", "solver", "--solver"},
    {"arch backbone network", "net", "--net"},
    {"data data_dir dataset data_path train_data train_dir source", "solver",
     "--set net.layer[data].data_param.source=..."},
    {"verbose log_level loglevel", "log_format", "--log_format=caffe"},
    {"silent q", "threads", "--quiet"},
    {"workers num_workers loader_workers data_workers", "data_threads", "--data_threads"},
    {"name run_name exp_name experiment exp project save_dir", "run_dir", "--run_dir"},
    {"output out output_dir out_dir results logdir log_path tensorboard wandb", "run_dir",
     "--run_dir"},
    {"output out output_file results save_csv save_txt", "csv", "--csv=FILE"},
    {"output output_dir save_dir save project name", "out", "--out"},
    {"output_dir save_dir", "sort_into", "--sort_into"},
    {"patience early_stopping_patience early_stopping", "early_stop", "--early_stop=patience:N"},
    {"imgsz img_size image_size input_size img resolution", "size", "--size"},
    {"imgsz img_size image_size input_size img size", "resize", "--resize"},
    {"imgsz img_size image_size input_size crop_size", "set",
     "--set net.layer[data].transform_param.crop_size=..."},
    {"amp fp16 half mixed_precision use_amp", "precision", "--precision=fp16"},
    {"bf16 bfloat16 dtype", "precision", "--precision=bf16"},
    {"pretrained checkpoint ckpt init_from load_weights initial_checkpoint", "weights",
     "--weights"},
    {"resume_from ckpt_path resume_from_checkpoint load", "resume", "--resume"},
    {"save_best save_best_only", "keep_best", "--keep_best"},
    {"save_top_k save_total_limit checkpoint_hist", "keep_last", "--keep_last"},
    {"conf_thres confidence score_thr", "threshold", "--threshold"},
    {"threshold conf conf_thres confidence", "unsure_below", "--unsure_below"},
    {"iou iou_thres nms_thr", "nms", "--nms"},
    {"topk top_k", "top", "--top"},
    {"class_names class_map", "labels", "--labels"},
    {"split val_split validation_split test_size", "val", "--val"},
    {"random_seed manual_seed random_state", "seed", "--seed"},
    {"opset half dynamic", "dynamic_batch", "--dynamic_batch"},
};

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

std::string CommandMeantBy(const std::string& word) {
  for (const OtherCommand& other : kOtherCommands) {
    if (Contains(Words(other.words), Lower(word))) return other.meant;
  }
  return "";
}

std::string FlagMeantBy(const std::string& name, const std::vector<std::string>& flags) {
  for (const OtherFlag& other : kOtherFlags) {
    if (Contains(Words(other.names), Lower(name)) && Contains(flags, other.flag))
      return other.meant;
  }
  return "";
}

}  // namespace doppio
