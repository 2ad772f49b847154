// `draw`: a net as a picture, by graphviz, or as text in its language.
#include <gflags/gflags.h>

#include <algorithm>
#include <cctype>
#include <iostream>

#include "core/base/file.h"
#include "core/net/solver_spec.h"
#include "core/net/spec.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/graphviz.h"
#include "tools/lint.h"
#include "tools/net_drawing.h"
#include "tools/nets.h"

DEFINE_string(rankdir, "TB",
              "<TB|BT|LR|RL> where the net grows: from the top to the bottom, left to right, ...");

namespace doppio {
namespace {

const std::vector<std::string>& Pictures() {
  static const auto* formats =
      new std::vector<std::string>{"svg", "png", "pdf", "eps", "ps", "jpg", "jpeg", "gif", "webp"};
  return *formats;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "dot", or one of Pictures().
std::string FormatOf(const std::string& path) {
  const std::string name = path.substr(DirName(path).size());
  const size_t point = name.rfind('.');
  const std::string extension = point == std::string::npos ? "" : Lower(name.substr(point + 1));
  if (extension == "dot" || extension == "gv") return "dot";
  const auto& known = Pictures();
  if (std::find(known.begin(), known.end(), extension) != known.end()) return extension;
  std::string list;
  for (const std::string& format : known) list += ", ." + format;
  throw UsageError("'" + path + "' names no format: it may end with .dot" + list);
}

// Caffe's default is all layers, whatever their phase.
bool AllPhases() { return FLAGS_phase.empty() || Lower(FLAGS_phase) == "all"; }

std::string DrawFile(const CommandLine& line, const std::string& path) {
  const Phase phase = AllPhases() ? TRAIN : PhaseFromFlags(TRAIN);
  const NetSource source =
      LoadNet(path, OverridesOf(line), phase, FLAGS_level, SplitList(FLAGS_stage));
  LogWarnings(source.warnings);
  const std::string rankdir = FLAGS_rankdir;
  if (AllPhases()) {
    return DrawNet(source.net.name(), {source.net.input().begin(), source.net.input().end()},
                   {source.net.layer().begin(), source.net.layer().end()}, rankdir);
  }
  const NetSpec net = MakeNetSpec(source.net, source.places, source.state,
                                  OptionsFromFlags(phase, DataMode::kAssume));
  std::vector<LayerParameter> layers;
  for (const LayerSpec& layer : net.layers) layers.push_back(layer.param);
  return DrawNet(net.name, {}, layers, rankdir);
}

ExitCode RunDraw(const CommandLine& line, bool* began) {
  if (line.files.empty() || line.files.size() > 2) {
    throw UsageError("'draw' needs a net and perhaps a file to write\ntry: doppio draw --help");
  }
  CheckValue("rankdir", FLAGS_rankdir, {"TB", "BT", "LR", "RL"});
  const bool to_file = line.files.size() == 2;
  const std::string format = to_file ? FormatOf(line.files[1]) : "dot";
  const std::string drawing = DrawFile(line, line.files[0]);
  *began = true;
  if (!to_file) {
    std::cout << drawing;
  } else if (format == "dot") {
    WriteFileAtomically(line.files[1], drawing);
  } else {
    WriteFileAtomically(line.files[1],
                        [&](const std::string& temporary) { RunDot(drawing, format, temporary); });
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "draw",
                {"draws a net: as DOT text, or as an SVG, PNG or PDF file by graphviz",
                 {"rankdir", "phase", "level", "stage", "set", "unset"},
                 {},
                 "NET [FILE]",
                 "doppio draw models/lenet/train_val.prototxt lenet.svg",
                 &RunDraw,
                 {"draw_net", "draw_net.py"}});

}  // namespace
}  // namespace doppio
