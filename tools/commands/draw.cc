// `draw`: draws a net as an image by graphviz, as DOT text, or as an HTML page.
#include <algorithm>
#include <iostream>

#include "core/base/file.h"
#include "core/net/contract/place_rule.h"
#include "core/net/graph/graph.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/spec/spec.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/word_list.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"
#include "tools/pages/graphviz.h"
#include "tools/pages/net_drawing.h"
#include "tools/pages/net_page.h"

namespace doppio {
namespace {

// Returns the format for a file name: "dot", "html", or a format of graphviz such as "svg".
std::string FormatOf(const std::string& path) {
  const std::string name = path.substr(DirName(path).size());
  const size_t point = name.rfind('.');
  std::string extension = point == std::string::npos ? "" : Lower(name.substr(point + 1));
  if (extension == "dot" || extension == "gv") return "dot";
  if (extension == "html" || extension == "htm") return "html";
  const std::vector<std::string> pictures = Words("svg png pdf eps ps jpg jpeg gif webp");
  if (Contains(pictures, extension)) return extension;
  throw UsageError("'" + path + "' has no known ending; use .dot, .html, ." +
                   Join(pictures, ", ."));
}

// Caffe's default is to draw all layers, regardless of their phase.
bool AllPhases(const std::string& phase) { return phase.empty() || Lower(phase) == "all"; }

Phase PhaseOf(const std::string& phase) { return AllPhases(phase) ? TRAIN : PhaseOr(phase, TRAIN); }

struct Drawn {
  NetSource source;
  std::vector<LayerParameter> layers;
  NetDrawing drawing;
};

NetSpec SpecOf(const NetSource& source, Phase phase) {
  NetOptions options;
  options.phase = phase;
  options.data = DataMode::kAssume;
  return MakeNetSpec(source.net, source.places, source.state, options);
}

// Stores in `layers` the devices on which --place and the fields `device` place them. Layers that
// only a test net has are on none.
void AddDevices(const CommandLine& line, std::vector<LayerParameter>* layers) {
  const bool fields = std::any_of(layers->begin(), layers->end(), [](const LayerParameter& layer) {
    return !layer.device().empty();
  });
  if (line.flags.place.empty() && !fields) return;
  const Phase phase = PhaseOf(line.flags.phase);
  NetSpec spec = SpecOf(LoadNet(line.flags, line.files[0], phase), phase);
  spec.options.place = ParsePlaceRules(line.flags.place);
  const Graph graph = MakeGraph(std::move(spec));
  for (LayerParameter& layer : *layers) {
    layer.clear_device();
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.layer(static_cast<int>(n)).name() == layer.name())
        layer.set_device(graph.places[graph.nodes[n].place]);
    }
  }
}

Drawn Draw(const CommandLine& line) {
  const Phase phase = PhaseOf(line.flags.phase);
  Drawn drawn;
  drawn.source = LoadNet(line.flags, line.files[0], phase);
  const NetSource& source = drawn.source;
  LogWarnings(source.warnings);
  if (AllPhases(line.flags.phase)) {
    drawn.layers = {source.net.layer().begin(), source.net.layer().end()};
    AddDevices(line, &drawn.layers);
    drawn.drawing = MakeNetDrawing(
        source.net.name(), {source.net.input().begin(), source.net.input().end()}, drawn.layers);
    return drawn;
  }
  const NetSpec net = SpecOf(source, phase);
  for (const LayerSpec& layer : net.layers) drawn.layers.push_back(layer.param);
  AddDevices(line, &drawn.layers);
  drawn.drawing = MakeNetDrawing(net.name, {}, drawn.layers);
  return drawn;
}

// Returns an HTML page. It shows shapes if they can be inferred; a net with unknown layer types is
// drawn without.
std::string DrawPage(const CommandLine& line, const Drawn& drawn) {
  std::vector<Graph> graphs;
  std::string note;
  for (const Phase phase : {TRAIN, TEST}) {
    if (!AllPhases(line.flags.phase) && phase != PhaseOf(line.flags.phase)) continue;
    try {
      graphs.push_back(MakeGraph(SpecOf(LoadNet(line.flags, line.files[0], phase), phase)));
    } catch (const Error& error) {
      const std::string why = error.what();
      note = "shapes are unknown: " + why.substr(0, why.find('\n'));
    }
  }
  // A net for one phase usually fails in the other phase, so one valid phase is enough.
  return MakeNetPage(drawn.drawing, drawn.layers, graphs, line.flags.rankdir,
                     graphs.empty() ? note : "");
}

ExitCode RunDraw(const CommandLine& line, bool* began) {
  CheckValue("rankdir", line.flags.rankdir, {"TB", "BT", "LR", "RL"});
  const bool to_file = line.files.size() == 2;
  std::string format = to_file ? FormatOf(line.files[1]) : "dot";
  if (line.Given("format")) {
    CheckValue("format", line.flags.format, {"dot", "html"});
    format = line.flags.format;
  }
  const Drawn drawn = Draw(line);
  const std::string text = format == "html"
                               ? DrawPage(line, drawn)
                               : ToDot(drawn.drawing, drawn.layers, line.flags.rankdir);
  *began = true;
  if (!to_file) {
    std::cout << text;
  } else if (format == "dot" || format == "html") {
    WriteFileAtomically(line.files[1], text);
  } else {
    WriteFileAtomically(line.files[1],
                        [&](const std::string& temporary) { RunDot(text, format, temporary); });
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "draw",
    {"draws a net: as DOT text, as an HTML page, or as an SVG, PNG or PDF file by graphviz",
     Words("place rankdir format phase level stage set unset"),
     {},
     "NET [FILE]",
     "doppio draw models/lenet/train_val.prototxt lenet.svg",
     &RunDraw,
     {"draw_net", "draw_net.py"}});

}  // namespace
}  // namespace doppio
