// A random net while it grows. Rows of layer types (layer_row.h) add layers to it.
//
// The draft knows the shape of every blob, because it builds the graph after each layer. A row
// therefore computes no shapes: it proposes a layer, and the draft refuses what the layer's `infer`
// refuses.
//
// While the net grows, an Input layer of the same shapes stands for each source, so that a draft
// needs no files. Finish() puts the sources in.
#ifndef DOPPIO_TESTS_RANDOM_NET_DRAFT_H_
#define DOPPIO_TESTS_RANDOM_NET_DRAFT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "proto/net.pb.h"
#include "tests/random/draw.h"

namespace doppio {

// What the numbers of a blob are.
enum class BlobKind {
  kValues,  // any numbers, of about unit size
  kLabels,  // whole numbers in [0, classes)
  kOther,   // numbers that only some layers can read: boxes, regions, masks, scores
};

// A blob that layers may read.
struct DraftBlob {
  std::string name;
  Shape shape;  // in TRAIN; axis 0 is the batch, unless `rows` is false
  BlobKind kind = BlobKind::kValues;
  int64_t classes = 0;   // of labels
  bool learns = false;   // parameters that learn lie behind it, so its gradient matters
  bool open = false;     // no loss depends on it by a gradient yet, but one may (draft_flow.h)
  bool rows = true;      // axis 0 has a row per sample of the batch
  bool read = false;     // some layer reads it
  bool score = false;    // a loss or a score
  bool extra = false;    // made by Numbers for one layer
  bool blocked = false;  // a loss that depends on it is refused (draft_flow.h); never kValues then
  std::string filter;    // the Filter that decides how many of its rows are valid; "": all are
};

// Numbers that a layer needs besides the values of other layers. The draft adds them as a dataset
// of the net's source of such numbers (an HDF5Data layer). Axis 0 is the batch.
struct Extra {
  // uniform: in [low, high). whole: whole numbers in [low, high]. marks: 0 for the first step of a
  // sequence, else mostly 1. boxes: rows of 4 numbers x1 < x2, y1 < y2 in [0, 1).
  // regions: rows of 5: an index in [0, batch) and a box in pixels of [low, high].
  std::string kind = "uniform";
  double low = -1, high = 1;
  std::vector<int64_t> sample;  // the shape without the batch; empty: one number per sample
  bool shared = false;          // Find also offers the blob to other layers
};

// A source of a draft.
struct DraftSource {
  std::vector<LayerParameter> layers;  // one for both phases, or one for each
  std::vector<DraftBlob> tops;         // with the batch of TRAIN
};

// Copying a draft is cheap. A copy continues with the same Draw.
class NetDraft {
 public:
  // A draft whose sources have `batch` samples in TRAIN and `test_batch` in TEST.
  NetDraft(Draw* draw, int64_t batch, int64_t test_batch);

  Draw& draw() { return *draw_; }
  int64_t batch() const { return batch_; }
  int64_t test_batch() const { return test_batch_; }
  const NetParameter& net() const { return net_; }
  const std::vector<DraftBlob>& blobs() const { return blobs_; }

  // Returns one of the blobs that `fits` accepts, or nothing. Usually one that no layer reads, or
  // that no layer passes a gradient, so that nets become deep; sometimes one that is read, so that
  // they branch.
  std::optional<DraftBlob> Find(const std::function<bool(const DraftBlob&)>& fits);
  // Returns a blob of values with `axes` axes in the given range and a row per sample, or nothing.
  std::optional<DraftBlob> Values(int min_axes = 1, int max_axes = 5);
  // Returns a blob of images: values of 4 axes with at least `side` rows and columns, or nothing.
  std::optional<DraftBlob> Images(int64_t side = 1);
  // Returns another blob of values of the shape of `like` that is not `like`, or nothing.
  std::optional<DraftBlob> SameShape(const DraftBlob& like);
  // Returns labels below `classes`, one per sample or of the given shape without the batch. Adds a
  // source for them if there are none.
  DraftBlob Labels(int64_t classes, const std::vector<int64_t>& sample = {});
  // Adds a dataset of such numbers and returns its blob.
  DraftBlob Numbers(const Extra& extra);

  // A proposal of a layer.
  struct Layer {
    std::string type;
    std::vector<std::string> bottoms;
    int tops = 1;
    // Prototxt: "pooling_param { kernel_size: 2 }", include rules, loss_weight, ...
    std::string fields;
    // What the tops hold, for top i; kValues for tops without an entry, kOther for tops of losses
    // and scores.
    std::vector<BlobKind> kinds;
    int64_t classes = 0;    // if tops hold labels
    bool in_place = false;  // top 0 has the name of bottom 0
  };
  // Adds the layer under a new name with new tops and returns true. Returns false, and adds
  // nothing, if the net with the layer has no graph in one of its phases; counts the refusal with
  // its message (refusals()), because rows should rarely propose what is refused. Also returns
  // false, but counts no refusal, if the net would become too large for a test.
  bool Add(const Layer& layer);
  // Blobs that the last Add produced, in the order of the tops.
  std::vector<DraftBlob> tops() const { return tops_; }

  // Returns a filler: usually of some distribution of about 1 / sqrt(fan-in) size, sometimes
  // another.
  std::string Filler(const std::string& field, double size = 0.3);

  struct Refusal {
    std::string type, message;
  };
  const std::vector<Refusal>& refusals() const { return refusals_; }
  // Returns the number of calls of Add that were accepted or refused.
  int64_t proposals() const { return proposals_; }

  // ---- For the composition of nets (compose.h) -------------------------------------------------

  // Adds a source whose tops other layers may read.
  void AddSource(const DraftSource& source);
  // Must be called before a row draws a layer of the type. Blobs with a varying number of rows are
  // offered only to types that take them.
  void Begin(const std::string& type);
  // Sets how often Find prefers blobs that are read already.
  void set_branching(double chance) { branching_ = chance; }
  // With true, Find takes the newest blob if it fits, so that layers form a chain.
  void set_follows(bool follows) { follows_ = follows; }
  // With true, Find prefers blobs behind which parameters learn.
  void set_prefers_learning(bool prefers) { prefers_learning_ = prefers; }
  // Sets the number of samples of the sources that Numbers adds, and the beginning of the names of
  // layers.
  void set_records(int64_t records) { records_ = records; }
  void set_prefix(const std::string& prefix) { prefix_ = prefix; }
  void set_draw(Draw* draw) { draw_ = draw; }
  // Changes the net and returns true. Returns false, and changes nothing, if the changed net has no
  // graph. Blobs that are no longer in both phases are no longer offered.
  bool Change(const std::function<void(NetParameter*)>& change);
  // Returns the graph in TRAIN after the last Add or Change. Requires one.
  const Graph& graph() const { return *graph_; }
  // Returns true if the layer is the stand-in for a source.
  static bool IsStandIn(const LayerParameter& layer);
  // Returns the net with its sources. Datasets that no layer reads are left out.
  NetParameter Finish();

 private:
  // A dataset of the net's numbers.
  struct Dataset {
    std::string name;
    Extra extra;
  };
  struct Phases;

  std::string NewName(const std::string& type) const;
  LayerParameter Proposed(const Layer& layer) const;
  bool Offers(const DraftBlob& blob) const;
  std::vector<DraftBlob> NewBlobs(const Layer& layer, const LayerParameter& param) const;
  // Builds the graphs of `net`, where layers behind it will read those of `blobs` that vary.
  static Phases Build(NetParameter net, const std::vector<DraftBlob>& blobs);
  // Completes a blob with what the graphs know of it. Returns true if it is in both phases.
  bool Describe(const Phases& phases, DraftBlob* blob) const;
  void Accept(NetParameter net, Phases phases);
  void AddStandIn(const std::vector<DraftBlob>& tops);
  void AddDatasets(NetParameter* net);

  Draw* draw_;
  int64_t batch_, test_batch_;
  NetParameter net_;  // with a stand-in for each source
  std::vector<DraftBlob> blobs_, tops_;
  std::map<std::string, BlobKind> kinds_;  // of all blobs, as their layers declare them
  std::vector<DraftSource> sources_;
  std::vector<Dataset> datasets_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Refusal> refusals_;
  int64_t proposals_ = 0, records_ = 20;
  std::string prefix_;
  double branching_ = 0.2;
  bool prefers_learning_ = false, follows_ = false;
  std::string drawn_type_;             // of Begin
  bool takes_varying_ = false;         // the layer that is drawn may read blobs of a Filter
  std::optional<std::string> filter_;  // of the first blob that Find has returned since Begin
};

// Returns the graph of a net in a phase, in the state in which a solver without states of its own
// trains and tests it. Needs no data whose shape the fields declare (DataMode::kAssume). Throws the
// mistakes of the net.
Graph GraphInPhase(const NetParameter& net, Phase phase);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_NET_DRAFT_H_
