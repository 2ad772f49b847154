// `init`: creates everything that the training of an image classifier needs from a set of images,
// without asking questions.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "core/base/file.h"
#include "core/base/threads.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/new_files.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/data/class_balance.h"
#include "tools/data/in_order.h"
#include "tools/data/list_split.h"
#include "tools/init/init_data.h"
#include "tools/init/init_files.h"
#include "tools/init/plan_minutes.h"
#include "tools/init/pretrained.h"
#include "tools/nets/nets.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSide = 4096, kMostEpochs = 1'000'000, kMostBatch = 1'000'000;
constexpr int64_t kMostMinutes = 1'000'000;

InitWishes WishesOf(const InitOptions& options, int64_t batch) {
  InitWishes wishes;
  wishes.net = options.net;
  wishes.size = static_cast<int>(InRange("size", options.size, 0, kMostSide));
  wishes.epochs = static_cast<int>(InRange("epochs", options.epochs, 0, kMostEpochs));
  wishes.batch = static_cast<int>(InRange("batch", batch, 0, kMostBatch));
  SetAugmentation(options.augment, &wishes);
  SetBalance(options.balance, &wishes);
  InRange("minutes", options.minutes, 0, kMostMinutes);
  // Reports a wrong name before the images are read.
  if (!wishes.net.empty()) ReadZooNet(wishes.net);
  return wishes;
}

// Returns the trained weights of --weights, if any.
std::optional<PretrainedNet> StartOf(const CommandLine& line) {
  if (!line.flags.weights.empty()) {
    PretrainedNet start =
        ReadPretrained(line.flags.weights, line.flags.net, WishesFromFlags(line, line.flags.mean));
    SetRates(line.flags.freeze, &start);
    return start;
  }
  for (const char* flag : {"freeze", "rgb", "mean", "scale"}) {
    if (line.Given(flag)) throw UsageError(std::string("--") + flag + " needs --weights");
  }
  return std::nullopt;
}

double TestShare(const CommandLine& line) {
  constexpr double kUsual = 0.2;
  if (!line.Given("val")) return kUsual;
  if (line.flags.val > 0 && line.flags.val < 1) return line.flags.val;
  throw UsageError("--val needs a share between 0 and 1; got " + Significant(line.flags.val));
}

fs::path WholePath(const std::string& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

// Returns a name for the data: "photos" for "../photos/", "train" for "train.txt".
std::string NameOfData(const std::string& path) {
  const std::string name = WholePath(path).stem().string();
  return name.empty() || name == "/" ? "images" : name;
}

std::string FolderToMake(const CommandLine& line) {
  const std::string& data = line.files[0];
  std::string folder = line.files.size() == 2 ? line.files[1] : NameOfData(data) + "_doppio";
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code failed;
  if (FileExists(folder) && !fs::is_empty(folder, failed)) {
    throw FileError("'" + folder + "' already exists; remove it, or name another folder");
  }
  const fs::path inside = WholePath(folder).lexically_relative(WholePath(data));
  if (FileExists(data + "/.") && *inside.begin() != "..") {
    throw UsageError("'" + folder +
                     "' would be among the images; name a folder elsewhere: doppio " + "init " +
                     ShellQuoted(data) + " FOLDER");
  }
  return folder;
}

InitSource SourceOf(const FoundPart& part, const std::string& list) {
  if (!part.listed()) return {part.path, part.kind, ""};
  return {list, "", part.images.root};
}

// The functions below format the lines of the summary: a keyword and its text.
using SummaryLines = std::vector<std::pair<std::string, std::string>>;

std::string ClassesText(const InitData& data) {
  constexpr size_t kShown = 10;
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(kShown, data.class_sizes.size()); ++i)
    texts.push_back(data.ClassCalled(i) + " " + Thousands(data.class_sizes[i]));
  return Join(texts, ", ") + (data.class_sizes.size() > kShown ? ", ..." : "");
}

// Adds a note about the smallest class if it is much smaller than the largest.
void NoteImbalance(InitData* data) {
  const std::string rare = RareClassText(data->class_sizes, data->class_names);
  if (rare.empty()) return;
  data->notes.push_back(rare +
                        " for training: --balance=sampling shows every class equally often, "
                        "--balance=weights weighs the loss");
}

std::string SizesText(const ImageFacts& facts) {
  if (facts.height > 0) {
    return "all of " + std::to_string(facts.height) + "x" + std::to_string(facts.width);
  }
  return "of several sizes, short sides about " + std::to_string(facts.short_side);
}

std::string InputText(const InitPlan& plan) {
  std::string text = plan.input.ToString();
  if (plan.crop) text += ", cut out";
  if (plan.resize_height > 0) {
    text += std::string(plan.crop ? " of" : ", after resizing to") + " " +
            std::to_string(plan.resize_height) + "x" + std::to_string(plan.resize_width);
  }
  return text;
}

std::string MeansText(const ImageFacts& facts) {
  std::vector<std::string> means;
  for (const double mean : facts.means) means.push_back(Fixed(mean, 2));
  return Join(means, ", ");
}

std::string TrainingText(const InitPlan& plan) {
  std::string text = std::to_string(plan.epochs) + " epochs, " + Thousands(plan.iterations) +
                     " iterations of " + std::to_string(plan.batch) + "; rate " +
                     Significant(plan.base_lr, 3) + " after a warm-up of " +
                     std::to_string(plan.warmup) + ", falling along a cosine";
  if (plan.balance == Balance::kSampling) text += "; every class equally often";
  if (plan.balance == Balance::kWeights) text += "; classes weighted by their sizes";
  return text;
}

std::string TimeText(const TimedPlan& timed) {
  return AboutText(timed.seconds) + " on " + std::to_string(NumThreads()) +
         (NumThreads() == 1 ? " thread" : " threads") + ", by some iterations of this net" +
         (timed.faster.empty() ? "" : "; " + timed.faster);
}

SummaryLines Summarize(const InitData& data, const TimedPlan& timed, const std::string& folder) {
  const InitPlan& plan = timed.plan;
  const ImageFacts& facts = data.facts;
  SummaryLines lines;
  lines.push_back({"data", data.train.path + " (" + data.train.kind + ")" +
                               (data.split_share > 0 || data.test.path == data.train.path
                                    ? ""
                                    : ", tests " + data.test.path)});
  lines.push_back({"classes", std::to_string(facts.classes) + ": " + ClassesText(data)});
  lines.push_back({"images", std::string(facts.channels == 1 || facts.gray ? "gray" : "colour") +
                                 ", " + SizesText(facts)});
  if (!data.left_out.empty()) {
    lines.push_back({"left out", Thousands(static_cast<int64_t>(data.left_out.size())) +
                                     " that cannot be read (" + KindsText(data.left_out) +
                                     "), listed in " + folder + "/left_out.txt"});
  }
  lines.push_back(
      {"split",
       Thousands(facts.train) + " for training, " + Thousands(facts.test) + " for tests" +
           (data.split_share > 0 ? " (" + Significant(data.split_share) + " of every class)"
                                 : "")});
  lines.push_back({"net", plan.net.name + " (" + plan.why + ")"});
  if (!plan.weights.empty()) {
    lines.push_back({"weights", plan.weights + ", in " + kStartWeights +
                                    ", from which train starts; the last layer is new"});
  }
  lines.push_back({"input", InputText(plan) + ", minus the mean " + MeansText(facts)});
  lines.push_back({"solver", TrainingText(plan)});
  lines.push_back({"time", TimeText(timed)});
  for (const std::string& note : data.notes) lines.push_back({"note", note});
  return lines;
}

std::vector<std::string> NextCommands(const std::string& program, const std::string& folder) {
  const std::string start = ShellQuoted(program) + " ", at = " " + ShellQuoted(folder);
  return {start + "train" + at, start + "classify" + at + " IMAGES"};
}

std::string PageText(const SummaryLines& lines, const std::string& name,
                     const std::string& folder) {
  std::ostringstream text;
  text << "# " << name << "\n\nWritten by `doppio init`. What it found and chose:\n\n";
  for (const auto& [word, what] : lines) text << "* " << word << ": " << what << '\n';
  text << "\n## Commands\n\n";
  for (const std::string& command : NextCommands("doppio", folder))
    text << "    " << command << '\n';
  text << "\nMore: `doppio train` continues where it stopped with `--resume`, trains on GPUs with "
          "`--gpu=all --scale_lr=linear`, from\npublished weights of the same net with "
          "`--weights=FILE`, and keeps a run folder with `--run_dir=auto`.\n\n"
          "Files: `train_val.prototxt` is the net for training and tests, `deploy.prototxt` for "
          "use, `solver.prototxt` how to\ntrain. Images are read where they are; paths are whole, "
          "so run `doppio init` again after moving them.\n";
  return text.str();
}

std::vector<std::string> LeftOutTexts(const InitData& data) {
  std::vector<std::string> texts;
  for (const LeftOutImage& image : data.left_out) texts.push_back(image.text);
  return texts;
}

void WriteProject(const std::string& folder, const InitData& data, const InitTexts& texts,
                  const std::string& page) {
  NewFiles files(folder);
  for (const auto& [name, part] :
       {std::pair<const char*, const FoundPart*>{"train.txt", &data.train},
        {"val.txt", &data.test}}) {
    if (!part->listed()) continue;
    std::string list;
    for (const ImageLine& image : part->images.lines) list += TextOf(image);
    files.Write(name, list);
  }
  if (!data.class_names.empty()) files.Write("labels.txt", LinesOfClasses(data.class_names));
  if (!data.left_out.empty()) files.Write("left_out.txt", Join(LeftOutTexts(data), "\n") + "\n");
  files.Write("train_val.prototxt", texts.train_val);
  files.Write("deploy.prototxt", texts.deploy);
  files.Write("README.md", page);
  if (!texts.weights.empty()) files.Write(kStartWeights, texts.weights);
  // The solver comes last, because it makes the folder a training folder.
  files.Write("solver.prototxt", texts.solver);
  files.Keep();
}

nlohmann::json ResultJson(const InitData& data, const TimedPlan& timed, const std::string& folder,
                          const std::vector<std::string>& next) {
  const InitPlan& plan = timed.plan;
  const ImageFacts& facts = data.facts;
  nlohmann::json classes = nlohmann::json::array();
  for (size_t i = 0; i < data.class_sizes.size(); ++i) {
    classes.push_back({{"label", i}, {"images", data.class_sizes[i]}});
    if (!data.class_names.empty()) classes.back()["name"] = data.class_names[i];
  }
  return {{"folder", folder},
          {"kind", data.train.kind},
          {"train_images", facts.train},
          {"test_images", facts.test},
          {"split", data.split_share > 0},
          {"left_out", LeftOutTexts(data)},
          {"classes", classes},
          {"means", facts.means},
          {"net", plan.net.name},
          {"weights", plan.weights},
          {"input", {plan.input.channels, plan.input.height, plan.input.width}},
          {"batch", plan.batch},
          {"base_lr", plan.base_lr},
          {"epochs", plan.epochs},
          {"iterations", plan.iterations},
          {"seconds", std::round(timed.seconds)},
          {"threads", NumThreads()},
          {"faster", timed.faster},
          {"notes", data.notes},
          {"next", next}};
}

void PrintResult(const SummaryLines& lines, const std::string& folder,
                 const std::vector<std::string>& next) {
  constexpr size_t kColumn = 10;
  for (const auto& [word, what] : lines) {
    std::cout << word << std::string(kColumn - word.size(), ' ') << what << '\n';
  }
  std::cout << "written   " << folder << "/: train_val.prototxt, solver.prototxt, deploy.prototxt, "
            << "README.md ...\nnext:\n";
  for (const std::string& command : next) std::cout << "  " << command << '\n';
}

ExitCode RunInit(const CommandLine& line, bool* began) {
  InitWishes wishes = WishesOf(line.flags, line.flags.batch);
  const double test_share = TestShare(line);
  const std::string folder = FolderToMake(line);
  std::optional<PretrainedNet> start = StartOf(line);
  InitProject project;
  project.name = NameOfData(line.files[0]);
  project.folder = WholePath(folder).string();
  project.seed = SeedOr1(line.flags.seed);
  InitData data = ReadInitData(FindData(line.files[0], line.flags.val_data, line.flags.root_folder),
                               test_share, project.seed, ThreadsOr(line.flags.data_threads));
  project.train = SourceOf(data.train, project.folder + "/train.txt");
  project.test = SourceOf(data.test, project.folder + "/val.txt");
  if (start) {
    TakeImagesOf(data.train.kind, &*start, &data.facts);
    data.notes.insert(data.notes.end(), start->notes.begin(), start->notes.end());
    wishes.start = &*start;
  }
  if (wishes.balance == Balance::kNone) NoteImbalance(&data);
  const TimedPlan timed =
      ChoosePlan(line.flags.minutes, data.facts, wishes,
                 [&](const InitPlan& plan) { return MeasurePlan(project, data, plan); });
  InitTexts texts = MakeInitTexts(project, data.facts, data.class_sizes, timed.plan);
  if (start) texts.weights = StartWeights(*start, texts.deploy);
  *began = true;
  const SummaryLines lines = Summarize(data, timed, folder);
  WriteProject(folder, data, texts, PageText(lines, project.name, project.folder));
  const std::vector<std::string> next = NextCommands(line.program, folder);
  if (line.flags.json) {
    std::cout << JsonText(ResultJson(data, timed, folder, next)) << '\n';
  } else {
    PrintResult(lines, folder, next);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "init",
                {"creates a net, a solver and lists for a classifier of your images",
                 Words("net weights freeze rgb mean scale size epochs minutes batch augment "
                       "balance val val_data root_folder seed data_threads json"),
                 {},
                 "FOLDER|LIST|DB [INTO]",
                 "doppio init photos && doppio train photos_doppio",
                 &RunInit});

}  // namespace
}  // namespace doppio
