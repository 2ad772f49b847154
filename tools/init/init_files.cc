#include "tools/init/init_files.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "data/decode/decoding.h"
#include "tools/cli/text_table.h"
#include "tools/data/class_balance.h"
#include "tools/init/pretrained.h"

namespace doppio {
namespace {

// Adds what Augmentation::kStrong changes besides the place and the direction.
void ChangeStrongly(const InitPlan& plan, TransformationParameter* transform) {
  constexpr float kSome = 0.5F;
  RotationParameter* rotation = transform->mutable_rotation_param();
  rotation->set_prob(kSome);
  rotation->set_max_degrees(15);
  if (plan.crop) {
    // The cut of Inception and ResNet, of no less than a third of the image.
    RandomAspectRatioParameter* part = transform->mutable_random_aspect_ratio_param();
    part->set_min_area_ratio(0.35F);
    part->set_aspect_ratio_change(4.0F / 3);
  } else if (!transform->has_pad()) {
    ShiftParameter* shift = transform->mutable_shift_param();
    shift->set_width(0.1F);
    shift->set_height(0.1F);
  }
  if (plan.input.channels == 3) {
    DistortionParameter* colours = transform->mutable_distort_param();
    colours->set_brightness_prob(kSome);
    colours->set_brightness_delta(32);
    colours->set_contrast_prob(kSome);
    colours->set_contrast_lower(kSome);
    colours->set_contrast_upper(1.5F);
    colours->set_saturation_prob(kSome);
    colours->set_saturation_lower(kSome);
    colours->set_saturation_upper(1.5F);
  }
  CutoutParameter* cutout = transform->mutable_cutout_param();
  cutout->set_prob(kSome);
  cutout->set_size(
      static_cast<uint32_t>(std::max(1, std::min(plan.input.height, plan.input.width) / 4)));
}

TransformationParameter TransformFor(const ImageFacts& facts, const InitPlan& plan, Phase phase) {
  const TransformationParameter& published = plan.net.train;
  TransformationParameter transform;
  // Gray images are often digits or letters, which must not be mirrored.
  const bool wanted = plan.augmentation == Augmentation::kUsual
                          ? facts.channels > 1 && !facts.gray
                          : plan.augmentation != Augmentation::kNone;
  const bool changes = phase == TRAIN && wanted;
  if (changes) transform.set_mirror(true);
  if (changes && plan.any_way_up) {
    transform.set_flip(true);
    if (plan.input.height == plan.input.width) transform.set_quarter_turns(true);
  }
  if (changes && published.has_pad()) {
    transform.set_pad(published.pad());
    transform.set_crop_h(static_cast<uint32_t>(plan.input.height));
    transform.set_crop_w(static_cast<uint32_t>(plan.input.width));
  } else if (plan.crop) {
    transform.set_crop_size(static_cast<uint32_t>(plan.input.height));
  }
  if (changes && plan.augmentation == Augmentation::kStrong) ChangeStrongly(plan, &transform);
  constexpr double kDigits = 100;
  for (const double mean : facts.means) {
    transform.add_mean_value(static_cast<float>(std::round(mean * kDigits) / kDigits));
  }
  if (published.has_scale()) transform.set_scale(published.scale());
  *transform.mutable_std_value() = published.std_value();
  SetDecoding(facts.decoding, &transform);
  return transform;
}

void SetList(const InitSource& from, const ImageFacts& facts, const InitPlan& plan, Phase phase,
             LayerParameter* layer) {
  layer->set_type("ImageData");
  ImageDataParameter* data = layer->mutable_image_data_param();
  data->set_source(from.source);
  if (!from.root.empty()) data->set_root_folder(from.root);
  const bool resize = plan.resize_height > 0;
  data->set_new_height(static_cast<uint32_t>(resize ? plan.resize_height : facts.height));
  data->set_new_width(static_cast<uint32_t>(resize ? plan.resize_width : facts.width));
  if (facts.channels == 1) data->set_is_color(false);
  if (plan.scaled_decode) data->set_scaled_decode(true);
  if (phase == TRAIN) data->set_shuffle(true);
  if (phase == TRAIN && plan.balance == Balance::kSampling) data->set_balance(true);
  data->set_batch_size(static_cast<uint32_t>(phase == TRAIN ? plan.batch : plan.test_batch));
}

void SetDatabase(const InitSource& from, const ImageFacts& facts, const InitPlan& plan, Phase phase,
                 LayerParameter* layer) {
  layer->set_type("Data");
  DataParameter* data = layer->mutable_data_param();
  data->set_source(from.source);
  DataParameter::DB backend;
  DOPPIO_CHECK(DataParameter::DB_Parse(from.backend, &backend), "no backend " + from.backend);
  data->set_backend(backend);
  if (phase == TRAIN) data->set_shuffle(true);
  if (phase == TRAIN && plan.balance == Balance::kSampling) data->set_balance(true);
  data->set_batch_size(static_cast<uint32_t>(phase == TRAIN ? plan.batch : plan.test_batch));
  TransformationParameter* transform = layer->mutable_transform_param();
  // A database may contain both gray and colour encoded images.
  if (facts.mixed_channels) transform->set_force_color(true);
  if (plan.resize_height == 0) return;
  ResizeParameter* resize = transform->mutable_resize_param();
  resize->set_resize_mode(ResizeParameter::WARP);
  resize->set_height(static_cast<uint32_t>(plan.resize_height));
  resize->set_width(static_cast<uint32_t>(plan.resize_width));
  resize->add_interp_mode(ResizeParameter::LINEAR);
}

std::string DataLayerText(const InitSource& from, const ImageFacts& facts, const InitPlan& plan,
                          Phase phase) {
  LayerParameter layer;
  layer.set_name("data");
  layer.add_top("data");
  layer.add_top("label");
  layer.add_include()->set_phase(phase);
  *layer.mutable_transform_param() = TransformFor(facts, plan, phase);
  const auto set = from.backend.empty() ? &SetList : &SetDatabase;
  set(from, facts, plan, phase, &layer);
  return "layer {\n" + ToPrototxt(layer, 1) + "}\n";
}

// Returns "_photos" for "photos"; all but letters, digits and "-" becomes "_".
std::string SuffixOf(const std::string& name) {
  std::string suffix = "_";
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    suffix += plain ? c : '_';
  }
  return suffix;
}

std::string HeadOf(const InitProject& project, const ImageFacts& facts, const InitPlan& plan,
                   const std::string& purpose) {
  return StrCat("# ", plan.net.title, " for the ", facts.classes, " classes of ", project.name,
                ", ", purpose, ". Made from ", plan.origin, " by doppio init.\n# ",
                plan.weights.empty() ? "Published weights" : "The weights of " + plan.weights,
                " fit: the names of the layers are theirs, but for the last one.\n");
}

// Returns the fields of the published solver that define its update rule.
std::string RuleText(const SolverParameter& published) {
  std::string text;
  for (const char* name :
       {"type", "momentum", "weight_decay", "rms_decay", "delta", "clip_gradients"}) {
    const auto* field = SolverParameter::descriptor()->FindFieldByName(name);
    if (!published.GetReflection()->HasField(published, field)) continue;
    std::string value;
    google::protobuf::TextFormat::PrintFieldValueToString(published, field, -1, &value);
    text += std::string(name) + ": " + value + "\n";
  }
  return text;
}

std::string SolverText(const InitProject& project, const ImageFacts& facts, const InitPlan& plan) {
  SolverParameter names;
  names.set_snapshot_prefix(project.folder + "/" + plan.net.name);
  constexpr int64_t kLines = 100, kMostBetween = 100;
  const int64_t display = std::max<int64_t>(1, std::min(kMostBetween, plan.iterations / kLines));
  const SolverParameter& published = plan.net.solver;
  std::string text =
      StrCat("# ", plan.net.title, " on ", project.name, ": ", plan.epochs, " epochs of ",
             Thousands(facts.train), " images. On one device these are ",
             Thousands(plan.iterations), " iterations of ", plan.batch,
             ",\n# on N devices a part of them, each of N batches: --scale_lr=linear then raises "
             "the rate.\n\nnet: \"train_val.prototxt\"\n\n");
  text +=
      StrCat("# A test is one pass over all ", Thousands(facts.test),
             " test images.\ntest_epoch: ", plan.test_epochs, "\ntest_initialization: false\n\n");
  if (!plan.weights.empty()) text += StartText(project.folder);
  text +=
      StrCat("# The published rate is ", Significant(published.base_lr()), " for batches of ",
             plan.net.batch,
             "; for smaller ones it is less, by the square\n# root. It falls along half a cosine.\n"
             "base_lr: ",
             Significant(plan.base_lr, 3), "\nlr_policy: \"cosine\"\n");
  if (plan.warmup > 0) text += "warmup_iter: " + std::to_string(plan.warmup) + "\n";
  text += StrCat("\n", RuleText(published), "\nmax_epoch: ", plan.epochs, "\ndisplay: ", display,
                 "\naverage_loss: ", std::min<int64_t>(display, 20),
                 "\nsnapshot_epoch: ", plan.snapshot_epochs, "\n", ToPrototxt(names),
                 "\n# The same numbers in every run.\nrandom_seed: ", project.seed, "\n");
  return text;
}

}  // namespace

Graph GraphOf(const std::string& path, const std::string& train_val, Phase phase, DataMode data,
              int64_t batch) {
  NetParameter net;
  const FieldPlaces places = ParseText(train_val, path, &net);
  NetState state;
  state.set_phase(phase);
  NetOptions options;
  options.phase = phase;
  options.data = data;
  options.batch = batch;
  return MakeGraph(MakeNetSpec(net, places, state, options));
}

InitTexts MakeInitTexts(const InitProject& project, const ImageFacts& facts,
                        const std::vector<int64_t>& class_counts, InitPlan plan) {
  SetClasses(facts.classes, SuffixOf(project.name), &plan.net);
  if (plan.balance == Balance::kWeights) SetLossParam(ClassCountsText(class_counts), &plan.net);
  InitTexts texts;
  texts.train_val = TrainText(plan.net, HeadOf(project, facts, plan, "for training and tests"),
                              DataLayerText(project.train, facts, plan, TRAIN) +
                                  DataLayerText(project.test, facts, plan, TEST));
  texts.deploy = DeployText(plan.net, HeadOf(project, facts, plan, "for use"), plan.input);
  texts.solver = SolverText(project, facts, plan);
  const std::string path = project.folder + "/train_val.prototxt";
  try {
    // The net is not yet in a file, but its shapes must fit together.
    GraphOf(path, texts.train_val, TRAIN, DataMode::kAssume);
    GraphOf(path, texts.train_val, TEST, DataMode::kAssume);
  } catch (const Error& e) {
    RethrowWithContext(e, {},
                       StrCat(plan.net.name, " cannot take images of ", plan.input.height, "x",
                              plan.input.width, "; choose another --net or --size"));
  }
  return texts;
}

}  // namespace doppio
