#include "tools/help/peer_topics.h"

#include "core/base/text/split_at.h"

namespace doppio {
namespace {

struct Row {
  const char* name;
  const char* synonyms;  // separated by commas
  const char* answer;
  const char* where;
};

constexpr Row kRows[] = {
    {"binary cross entropy", "bce,BCELoss,binary_crossentropy,multi label",
     "SigmoidCrossEntropyLoss, with a label for each output", "docs/prototxt.md#losses"},
    {"caching data", "cache,cache images,cache in memory",
     "no setting: the system keeps files of free memory's size", "docs/data.md#threads"},
    {"callbacks", "callback,hooks,on_epoch_end",
     "solver.add_callback in Python, or a loop of solver.step", "docs/python.md#solvers"},
    {"channels last", "nhwc,memory format,data format",
     "no setting: kernels choose layouts; files have N C H W", "docs/performance.md"},
    {"compilers", "torch.compile,torchcompile,jit,xla,triton,fused kernels",
     "no setting: kernels are fused and chosen at the start", "docs/performance.md"},
    {"configuration files", "yaml,config,config file,configuration,toml,hydra",
     "a solver and a net, both prototxt; --flagfile for flags", "docs/start.md#a-net-and-a-solver"},
    {"CutMix", "cutmix_alpha,mixup and cutmix,switch_prob",
     "the layer Mixup with cutmix_alpha: 1, alone or with mixup", "docs/prototxt.md#mixup"},
    {"detection thresholds", "conf,confidence,conf_thres,iou,iou_thres,score threshold",
     "doppio detect --threshold=0.5 --nms=0.3", "docs/cli.md#detect"},
    {"distillation", "knowledge distillation,kd,teacher,student",
     "no layer; the Softmax of a frozen net as soft labels", "docs/prototxt.md#losses"},
    {"drop path", "stochastic depth,droppath,whole_samples",
     "dropout_param { dropout_ratio: 0.1 whole_samples: true }", "docs/recipes.md#drop-path"},
    {"embedding", "embeddings,word vectors,feature vectors,features",
     "the layer Embed; doppio extract_features for images", "docs/cli.md#extract_features"},
    {"input size", "imgsz,image size,resolution,resize",
     "doppio init --size=N; crop_size, new_height in the net", "docs/data.md#image-files"},
    {"int8", "quantization,quantize,qat,ptq,8 bit",
     "no int8; quantize the exported ONNX file elsewhere", "docs/export.md"},
    {"Keras", "tensorflow,tf,compile,sequential,functional api",
     "nets are prototxt files, or NetSpec in Python", "docs/python.md#netspec"},
    {"largest batch", "auto_scale_batch_size,auto batch,batch size finder",
     "not chosen; --dry_run names the largest that fits", "docs/performance.md#less-memory"},
    {"layer scale", "layerscale,layer_scale,ls_init_value",
     "a Scale with filler { type: \"constant\" value: 1e-6 }", "docs/recipes.md#layer-scale"},
    {"learning rate finder", "auto_lr_find,lr finder,find learning rate,lr range test",
     "no finder; doppio sweep run --param=base_lr=log:1e-4..1", "docs/sweeps.md#what-to-try"},
    {"log interval", "log_every_n_steps,log_interval,print_freq", "display: 20 in the solver",
     "docs/prototxt.md#schedule"},
    {"model zoo", "zoo,architectures,backbone,list models,model names",
     "nets in models/; doppio init --net=NAME takes one", "docs/cli.md#init"},
    {"modern recipes", "recipe,training recipe,resnet strikes back,deit,timm,a1,torchvision recipe",
     "RandAugment, erasing, CutMix, smoothing, drop path, EMA",
     "docs/recipes.md#a-recipe-of-today"},
    {"mosaic", "mosaic augmentation,copy paste", "no mosaic; CutMix pastes one image into another",
     "docs/prototxt.md#mixup"},
    {"norms of samples", "layer norm,layer normalization,group norm,instance norm,RMSNorm",
     "LayerNorm, GroupNorm and InstanceNorm; no RMSNorm", "doppio help LayerNorm"},
    {"other optimizers", "radam,nadam,lookahead,sam",
     "none of these; the solver's types are in the table", "docs/solvers.md#rules"},
    {"other platforms", "tpu,mps,amd,rocm,apple silicon,macos,windows,arm64",
     "none: x86-64 Linux, on CPUs and GPUs of NVIDIA", "docs/install.md"},
    {"RandAugment", "randaugment,rand augment,auto augment,autoaugment,aa",
     "transform_param { rand_augment_param { magnitude: 9 } }",
     "docs/data.md#randaugment-and-trivialaugment"},
    {"random erasing", "erasing,reprob,random erase,RandomErasing",
     "transform_param { random_erasing_param { prob: 0.25 } }", "docs/data.md#random-changes"},
    {"quiet and verbose", "quiet,verbose,silent,verbosity,log level,minloglevel",
     "--quiet: only warnings; --log_format=caffe: all lines", "docs/cli.md#flags"},
    {"segmentation", "semantic segmentation,fcn,u-net,unet,masks",
     "models/fcn8s; ImageSegData reads images and masks", "docs/data.md#imagesegdata"},
    {"serving", "serve,server,rest api,http api,inference server",
     "no server; Classifier in Python, or an ONNX runtime", "docs/python.md#images"},
    {"standard deviation", "std,std_value,deviation,per channel std,imagenet mean std",
     "mean_value and std_value in transform_param", "docs/prototxt.md#transform_param"},
    {"SiLU", "swish activation", "the layer Swish is SiLU with its default beta of 1",
     "doppio help Swish"},
    {"sorting images", "sort,sort images,classify folder,csv of predictions,batch prediction",
     "doppio classify FOLDER --csv=FILE --sort_into=FOLDER", "docs/cli.md#classify"},
    {"squeeze and excitation", "squeeze,se block,senet,squeeze excite",
     "global Pooling, InnerProduct, Sigmoid, then Axpy", "doppio help Axpy"},
    {"TensorRT and OpenVINO", "tensorrt,openvino,tflite,coreml,ncnn,rknn,torchscript",
     "by ONNX: doppio export NET.onnx, then their own import", "docs/export.md"},
    {"test interval",
     "val_check_interval,check_val_every_n_epoch,eval_interval,validation interval",
     "test_interval: N or test_epoch: 1 in the solver", "docs/solvers.md#a-solver-to-begin-with"},
    {"transformers", "transformer,self attention,multi head attention,vit,bert,swin",
     "the layers Attention, LayerNorm, GELU and MatMul", "doppio help Attention"},
    {"training", "fit,train a model,training loop",
     "doppio train --solver=FILE, or doppio train FOLDER", "docs/start.md#a-net-and-a-solver"},
    {"TrivialAugment", "trivialaugment,trivial augment,trivialaugmentwide,ta_wide",
     "transform_param { trivial_augment_param { } }",
     "docs/data.md#randaugment-and-trivialaugment"},
    {"trying a training", "fast_dev_run,overfit_batches,limit_train_batches,smoke test,dry run",
     "--dry_run plans only; --set max_iter=10 runs a little",
     "docs/start.md#check-before-training"},
    {"unsure images", "unsure,reject,unknown class,confidence threshold",
     "doppio classify --unsure_below=0.6 names them unsure", "docs/cli.md#classify"},
    {"W&B and MLflow", "wandb,weights and biases,mlflow,neptune,clearml",
     "neither; --run_dir writes TensorBoard and CSV files", "docs/runs.md"},
};

}  // namespace

std::vector<HelpTopic> PeerTopics() {
  std::vector<HelpTopic> topics;
  for (const Row& row : kRows)
    topics.push_back({row.name, SplitAt(row.synonyms, ','), row.answer, row.where});
  return topics;
}

}  // namespace doppio
