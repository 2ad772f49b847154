// Chooses the net, the size of its input and the training settings for the data that `init` has
// found. The functions are pure.
#ifndef DOPPIO_TOOLS_INIT_INIT_PLAN_H_
#define DOPPIO_TOOLS_INIT_INIT_PLAN_H_

#include <cstdint>
#include <string>

#include "tools/data/image_stats.h"
#include "tools/init/zoo_net.h"

namespace doppio {

struct PretrainedNet;

struct ImageFacts {
  int channels = 3;             // channels of the net's input; 1 if all images are gray
  int height = 0, width = 0;    // common size of all images; 0: their sizes differ
  int short_side = 0;           // median of the shorter sides, in pixels
  bool mixed_channels = false;  // both gray and colour images occur
  DecodeOptions decoding;       // whether to turn images, and how to scale values of 16 bits
  bool gray = false;            // all images are gray, although the net's input has colours
  int classes = 0;
  int64_t train = 0, test = 0;  // number of images
  std::vector<double> means;    // mean per channel
};

// How training images are changed at random.
enum class Augmentation {
  kUsual,   // kLight for colour images, nothing for gray ones: they may be letters
  kNone,    // nothing, not even the place of the cut
  kLight,   // mirrored, and moved by a few pixels
  kStrong,  // also turned a little, other parts and colours, and a covered square
};

// How classes of different sizes are trained.
enum class Balance {
  kNone,
  kSampling,  // every class comes equally often
  kWeights,   // the loss weighs the classes
};

// Settings that the user may fix; 0 and "" mean that MakePlan() chooses.
struct InitWishes {
  std::string net;
  int size = 0;  // side of the net's input, in pixels
  int epochs = 0;
  int batch = 0;
  Augmentation augmentation = Augmentation::kUsual;
  bool any_way_up = false;  // images have no top: also flipped, and turned by 90 degrees
  Balance balance = Balance::kNone;
  const PretrainedNet* start = nullptr;  // the trained net to start from
};

// Sets the wishes of --augment and --balance. Throws UsageError.
void SetAugmentation(const std::string& words, InitWishes* wishes);
void SetBalance(const std::string& word, InitWishes* wishes);

struct InitPlan {
  ZooNet net;
  std::string weights;  // the user's file of weights to start from, or ""
  std::string origin;   // of the net: "models/resnet18", or the name of the file of weights
  // Why this net was chosen.
  std::string why;
  ImageShape input;                         // shape of the net's input
  int resize_height = 0, resize_width = 0;  // size to resize images to; 0: they keep their size
  bool crop = false;                        // crop the input from the resized image
  bool scaled_decode = false;               // decode large JPEGs at a smaller size
  Augmentation augmentation = Augmentation::kUsual;
  bool any_way_up = false;
  Balance balance = Balance::kNone;
  int batch = 0, test_batch = 0;
  double base_lr = 0;
  // The number of epochs in all, between tests, and between snapshots.
  int epochs = 0, test_epochs = 0, snapshot_epochs = 0;
  int64_t iterations = 0;  // total on one device
  int64_t warmup = 0;      // in iterations
};

// Returns the facts about channels, sizes and means; the numbers of classes and images stay 0.
// Throws FileError unless all images have 1 or 3 channels. If `can_be_gray`, colour images whose
// channels are all equal count as gray.
ImageFacts FactsOfImages(const ImageStats& stats, bool can_be_gray);

// Returns why a net suits the images: "small colour images, 32x32".
std::string WhyNet(const ImageFacts& facts);

// Makes a plan, for the net of trained weights if there are any. Throws UsageError for an unknown
// net.
InitPlan MakePlan(const ImageFacts& facts, const InitWishes& wishes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_INIT_PLAN_H_
