// `verify`: proves that two forms of a net compute the same, or says where they differ and why.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/version.h"
#include "data/augment/net_input.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/data/image_files.h"
#include "tools/export/waiting_room.h"
#include "tools/nets/nets.h"
#include "tools/nets/preparation.h"
#include "tools/onnx/net_run.h"
#include "tools/verify/find_cause.h"
#include "tools/verify/verify_report.h"

namespace doppio {
namespace {

constexpr size_t kRunsAtOnce = 16;  // runs whose inputs are held at a time
constexpr int kRandomInputs = 10;   // without --count

// The two forms, and which input of B is which of A.
struct Pair {
  VerifyForm a, b;
  std::vector<size_t> input_of_a;  // by input of B

  // The form that tells the most about the inputs.
  const VerifyForm& known() const {
    return !b.net || (a.net && (a.images() || !b.images())) ? a : b;
  }
};

int64_t BatchFor(const CommandLine& line, const FormFiles& a, const FormFiles& b) {
  const int64_t given = InRange("batch", line.flags.batch, 0, INT32_MAX);
  for (const FormFiles* files : {&a, &b}) {
    const int64_t fixed = files->onnx() && given == 0 ? FixedBatch(files->model) : 0;
    if (fixed > 0) return fixed;
  }
  return std::max<int64_t>(1, given);
}

void PairInputs(Pair* pair) {
  const std::vector<FormInput>&a = pair->a.inputs, &b = pair->b.inputs;
  const auto refuse = [](const std::string& text) {
    throw Error(ExitCode::kDifference, "the forms take different inputs: " + text);
  };
  if (a.size() != b.size()) refuse(StrCat(a.size(), " and ", b.size()));
  for (size_t j = 0; j < b.size(); ++j) {
    size_t i = 0;
    while (i < a.size() && a[i].name != b[j].name) ++i;
    if (i == a.size()) i = j;
    if (Contains(pair->input_of_a, i))
      refuse("'" + a[i].name + "' cannot be both '" + b[j].name + "' and another input");
    if (a[i].shape != b[j].shape) {
      refuse("'" + a[i].name + "' is " + a[i].shape.ToString() + ", and '" + b[j].name + "' " +
             b[j].shape.ToString());
    }
    pair->input_of_a.push_back(i);
  }
  if (!pair->a.net && !pair->b.net) {
    throw UserError(SourceLoc{pair->a.files.model},
                    "Doppio can run neither form: ", pair->a.why_not);
  }
}

// The inputs of one run, in the orders of A and of B.
struct RunInputs {
  InputValues a, b;
};

RunInputs RandomRun(const Pair& pair, uint64_t seed, uint64_t run) {
  RunInputs inputs;
  const VerifyForm& known = pair.known();
  for (size_t i = 0; i < pair.a.inputs.size(); ++i) {
    size_t named = i;
    if (&known == &pair.b)
      named = static_cast<size_t>(std::find(pair.input_of_a.begin(), pair.input_of_a.end(), i) -
                                  pair.input_of_a.begin());
    inputs.a.push_back(
        RandomInput(known.net->graph(), known.runnable, known.inputs[named].name, seed, run));
  }
  for (const size_t i : pair.input_of_a) inputs.b.push_back(inputs.a[i]);
  return inputs;
}

// Makes runs of image files. Each form's images are prepared as its own file records, or else as
// the other one's does.
class ImageRuns {
 public:
  ImageRuns(const CommandLine& line, const Pair& pair) : pair_(pair) {
    const Shape& shape = pair.a.inputs[0].shape;
    if (pair.a.inputs.size() != 1 || shape.rank() != 4 || (shape[1] != 1 && shape[1] != 3)) {
      throw UsageError(
          "--images needs nets with one input of 1 or 3 channels, a height and a "
          "width");
    }
    const ImageShape input{static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                           static_cast<int>(shape[3])};
    const auto of_a = pair.a.images(), of_b = pair.b.images();
    if (of_a && of_b && !DifferenceText(*of_a, *of_b).empty()) {
      LOG(WARNING) << "The forms record different preparations of images: "
                   << DifferenceText(*of_a, *of_b);
    }
    for (const auto& record : {of_a ? of_a : of_b, of_b ? of_b : of_a}) {
      const KnownPreprocessing known =
          KnownFromFlags(line, !line.flags.mean.empty(), record, std::nullopt, pair.a.files.model);
      ImageWishes wishes = WishesFromFlags(line, line.flags.mean);
      wishes.resize = line.flags.resize;
      readers_.emplace_back(PrepareImages(known, wishes, input), input);
    }
    ImageMistakes mistakes;
    ImageFiles files({line.flags.images}, "", &mistakes);
    CheckExists(line.flags.images);
    constexpr size_t kMostImages = 1'000'000;
    paths_ = files.Take(kMostImages);
    mistakes.ThrowIfAny();
  }

  size_t images() const { return paths_.size(); }
  size_t runs() const { return (paths_.size() + batch() - 1) / batch(); }
  // Rows behind the last image repeat it.
  RunInputs Run(size_t run) const {
    RunInputs inputs{{{}}, {{}}};
    for (size_t row = 0; row < batch(); ++row) {
      const std::string& path = paths_[std::min(run * batch() + row, paths_.size() - 1)];
      const std::string file = ReadFile(path);
      for (const bool first : {true, false}) {
        std::vector<float>& to = (first ? inputs.a : inputs.b)[0];
        try {
          const std::vector<float> values = readers_[first ? 0 : 1].Read(file);
          to.insert(to.end(), values.begin(), values.end());
        } catch (const FileError& e) {
          throw FileError("image '", path, "': ", e.message());
        }
      }
    }
    return inputs;
  }

 private:
  size_t batch() const { return static_cast<size_t>(pair_.a.inputs[0].shape[0]); }

  const Pair& pair_;
  std::vector<NetInput> readers_;  // of A, of B
  std::vector<std::string> paths_;
};

// A program that runs a form.
struct Runner {
  const VerifyForm* form;
  std::unique_ptr<Witness> witness;
  std::unique_ptr<Comparison> comparison;  // null for the reference
};

// Creates the witnesses; the first one is the reference.
std::vector<Runner> RunnersOf(const CommandLine& line, Pair* pair, const std::string& folder,
                              double tolerance) {
  std::vector<std::string> programs = SplitList(line.flags.with);
  for (const std::string& program : programs)
    CheckValue("with", program, {"doppio", "onnxruntime", "opencv", "torch"});
  if (programs.empty()) throw UsageError("--with needs the name of a program");
  // The reference is Doppio where it is asked for.
  std::stable_partition(programs.begin(), programs.end(),
                        [](const std::string& program) { return program == "doppio"; });
  std::vector<Runner> runners;
  for (VerifyForm* form : {&pair->a, &pair->b}) {
    std::vector<std::string> own;
    for (const std::string& program : programs) {
      if (CanRun(program, *form)) own.push_back(program);
    }
    if (own.empty()) own = {form->net ? "doppio" : "onnxruntime"};
    if (!form->net)
      LOG(WARNING) << "Doppio cannot run '" << form->files.model << "': " << form->why_not;
    for (const std::string& program : own) {
      Runner runner{form, MakeWitness(program, form, line.flags.python, folder, runners.size()),
                    nullptr};
      if (!runners.empty())
        runner.comparison = std::make_unique<Comparison>(pair->a, *form, tolerance);
      runners.push_back(std::move(runner));
    }
  }
  return runners;
}

// Returns true if the pair agrees once B gets the input with red and blue exchanged.
bool AgreesIfSwapped(VerifyForm* b, const Comparison& comparison, const PointPair& first,
                     const InputValues& inputs, double tolerance) {
  const Shape& shape = b->inputs[0].shape;
  if (inputs.size() != 1 || shape.rank() != 4 || shape[1] != 3 || !b->net) return false;
  std::vector<InputValues> runs = {inputs};
  const int64_t plane = shape.count(2);
  for (int64_t row = 0; row < shape[0]; ++row) {
    float* const image = runs[0][0].data() + row * 3 * plane;
    std::swap_ranges(image, image + plane, image + 2 * plane);
  }
  const std::unique_ptr<Witness> witness = MakeWitness("doppio", b, "", "", 0);
  witness->Start(runs, true);
  const PlainBlob swapped = witness->Values(0)[first.b];
  const PlainBlob& of_a = comparison.first_of_a()[first.a];
  return swapped.data.size() == of_a.data.size() &&
         DifferenceOf(of_a.data.data(), swapped.data.data(), of_a.shape.count()).relative() <=
             tolerance;
}

std::string RerunText(const CommandLine& line) {
  std::string text = "doppio";
  for (const std::string& word : line.words) text += " " + ShellQuoted(word);
  return text;
}

bool NeedsPython(const std::vector<std::string>& programs, const Pair& pair) {
  const bool other = std::any_of(programs.begin(), programs.end(),
                                 [](const std::string& program) { return program != "doppio"; });
  return other || !pair.a.net || !pair.b.net;
}

// The folder in which witnesses keep files for programs of Python.
std::string FolderForFiles() {
  const char* const temporary = std::getenv("TMPDIR");
  return std::string(temporary != nullptr && *temporary != 0 ? temporary : "/tmp") +
         "/doppio_verify";
}

class Verification {
 public:
  Verification(const CommandLine& line, Pair* pair, double tolerance)
      : line_(line),
        pair_(pair),
        tolerance_(tolerance),
        seed_(SeedOr1(line.flags.seed)),
        python_(NeedsPython(SplitList(line.flags.with), *pair)),
        runners_(RunnersOf(line, pair, python_ ? room_.emplace(FolderForFiles()).path() : "",
                           tolerance)) {
    if (!line.flags.images.empty()) images_.emplace(line, *pair);
    random_ = line.Given("count")
                  ? static_cast<size_t>(InRange("count", line.flags.count, 0, kMost))
                  : kRandomInputs;
    const auto batch = static_cast<size_t>(std::max<int64_t>(1, BatchOf(pair->known().runnable)));
    random_runs_ = (random_ + batch - 1) / batch;
    if (random_runs_ == 0 && !images_) throw UsageError("--count=0 needs --images");
  }

  // Compares all outputs in all runs, and the layers in the first one.
  void Run() {
    const size_t runs = random_runs_ + (images_ ? images_->runs() : 0);
    for (size_t begin = 0; begin < runs; begin += kRunsAtOnce) {
      std::vector<InputValues> of_a, of_b;
      for (size_t run = begin; run < std::min(runs, begin + kRunsAtOnce); ++run) {
        RunInputs inputs = InputsOf(run);
        of_a.push_back(std::move(inputs.a));
        of_b.push_back(std::move(inputs.b));
      }
      std::vector<std::vector<PlainBlob>> reference;
      for (Runner& runner : runners_) {
        // Witnesses of Python share a folder, so they run one after the other.
        runner.witness->Start(runner.form == &pair_->a ? of_a : of_b, begin == 0);
        for (size_t run = 0; run < of_a.size(); ++run) {
          std::vector<PlainBlob> values = runner.witness->Values(run);
          runner.comparison ? runner.comparison->Add(reference[run], values)
                            : reference.push_back(std::move(values));
        }
      }
    }
  }

  nlohmann::json Result() {
    nlohmann::json result = {
        {"command", RerunText(line_)},
        {"version", BuildIdentity()},
        {"tolerance", tolerance_},
        {"inputs",
         {{"random", random_}, {"seed", seed_}, {"images", images_ ? images_->images() : 0}}},
        {"a", {{"argument", pair_->a.files.argument}, {"files", FilesJson(pair_->a.files)}}},
        {"b", {{"argument", pair_->b.files.argument}, {"files", FilesJson(pair_->b.files)}}},
        {"equal", true},
        {"comparisons", nlohmann::json::array()}};
    for (Runner& runner : runners_) {
      result["programs"].push_back(NameOf(runner));
      if (!runner.comparison) continue;
      result["comparisons"].push_back(ResultOf(&runner));
      result["equal"] = result["equal"].get<bool>() && runner.comparison->Agrees();
    }
    return result;
  }

 private:
  RunInputs InputsOf(size_t run) const {
    return run < random_runs_ ? RandomRun(*pair_, seed_, run) : images_->Run(run - random_runs_);
  }

  // Where an output differs, the layers are compared in the run in which it differs most.
  nlohmann::json ResultOf(Runner* runner) {
    const Comparison& all = *runner->comparison;
    const bool of_b = runner->form == &pair_->b;
    VerifiedWitness found{NameOf(*runner), NameOf(runners_[0]), &all, &all, {}, nullptr, {}};
    Comparison worst(pair_->a, *runner->form, tolerance_);
    RunInputs inputs;
    if (!all.Agrees()) {
      inputs = InputsOf(static_cast<size_t>(all.WorstRun()));
      const std::vector<InputValues> of_a = {inputs.a}, of_other = {of_b ? inputs.b : inputs.a};
      runners_[0].witness->Start(of_a, true);
      const std::vector<PlainBlob> reference = runners_[0].witness->Values(0);
      runner->witness->Start(of_other, true);
      worst.Add(reference, runner->witness->Values(0));
      found.inside = &worst;
    }
    if (of_b) found.weights = WeightDifferences(*found.inside, tolerance_);
    found.first = FirstOf(*found.inside, found.weights);
    if (found.first == nullptr) return ToJson(found, tolerance_);
    found.causes = FindCauses(*found.inside, *found.first, found.weights, tolerance_);
    if (of_b && AgreesIfSwapped(&pair_->b, *found.inside, *found.first, inputs.b, tolerance_)) {
      found.causes.insert(found.causes.begin(),
                          "the order of the input's channels: the layer agrees if the second form "
                          "gets red and blue exchanged");
    }
    return ToJson(found, tolerance_);
  }

  // Returns where a difference begins. Changed weights may change their layer's own results by less
  // than the tolerance, and later ones by more.
  const PointPair* FirstOf(const Comparison& inside,
                           const std::vector<ArrayDifference>& weights) const {
    const PointPair* const first = inside.First();
    for (const ArrayDifference& array : weights) {
      const PointPair& pair = inside.pairs()[array.pair];
      const bool hidden = array.values.relative() > tolerance_ && pair.Agrees(tolerance_);
      if (first != nullptr && hidden && pair.a < first->a) return &pair;
    }
    return first;
  }

  static std::string NameOf(const Runner& runner) {
    return runner.form->files.argument + " in " + runner.witness->program();
  }

  static constexpr int64_t kMost = 1'000'000;  // random inputs

  const CommandLine& line_;
  Pair* const pair_;
  const double tolerance_;
  const uint64_t seed_;
  std::optional<WaitingRoom> room_;  // for the files of programs of Python
  const bool python_;
  std::vector<Runner> runners_;
  std::optional<ImageRuns> images_;
  size_t random_ = 0, random_runs_ = 0;
};

ExitCode RunVerify(const CommandLine& line, bool* began) {
  const double tolerance =
      NotNegative("tolerance", line.Given("tolerance") ? line.flags.tolerance : 1e-4);
  const std::string& html = line.flags.html;
  if (!html.empty()) CheckFolderOf(html);
  const FormFiles of_a = FilesOfForm(line.files[0]), of_b = FilesOfForm(line.files[1]);
  const int64_t batch = BatchFor(line, of_a, of_b);
  Pair pair{ReadForm(of_a, line.flags, batch), ReadForm(of_b, line.flags, batch), {}};
  PairInputs(&pair);
  Verification verification(line, &pair, tolerance);
  *began = true;
  verification.Run();
  const nlohmann::json result = verification.Result();
  if (!html.empty()) WriteFileAtomically(html, VerifyPage(result));
  const bool equal = result["equal"].get<bool>();
  if (line.flags.json) {
    std::cout << JsonText(result) << '\n';
  } else {
    for (const char* form : {"a", "b"}) {
      for (const nlohmann::json& file : result[form]["files"])
        std::cout << file["sha256"].get<std::string>() << "  " << file["path"].get<std::string>()
                  << '\n';
    }
    const nlohmann::json& inputs = result["inputs"];
    std::cout << inputs["random"] << " random inputs (seed " << inputs["seed"] << "), "
              << inputs["images"] << " images; tolerance " << Significant(tolerance)
              << " of the largest value of each blob\n";
    for (const nlohmann::json& one : result["comparisons"]) PrintWitness(one, std::cout);
  }
  return equal ? ExitCode::kDone : ExitCode::kDifference;
}

DOPPIO_REGISTER(
    Commands, "verify",
    {"proves that two forms of a net compute the same, or says where they differ and why",
     Words("with count seed images batch tolerance python json html like rgb channel_swap mean "
           "scale resize level stage set unset"),
     {},
     "A B",
     "doppio verify deploy.prototxt+net.caffemodel net.onnx --with=doppio,onnxruntime\n"
     "  doppio verify old.prototxt+old.caffemodel new.prototxt+new.npz --images=photos/ "
     "--html=verify.html",
     &RunVerify});

}  // namespace
}  // namespace doppio
