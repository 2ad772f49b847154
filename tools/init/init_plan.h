// What `init` chooses for the data that it has found: the net, the size of its input, and how to
// train it. Pure: from facts to values.
#ifndef DOPPIO_TOOLS_INIT_INIT_PLAN_H_
#define DOPPIO_TOOLS_INIT_INIT_PLAN_H_

#include <cstdint>
#include <string>

#include "tools/data/image_stats.h"
#include "tools/init/zoo_net.h"

namespace doppio {

struct ImageFacts {
  int channels = 3;             // that the net gets: 1 where all images are gray
  int height = 0, width = 0;    // of all images; 0: their sizes differ
  int short_side = 0;           // the median
  bool mixed_channels = false;  // some are gray, some are not
  int classes = 0;
  int64_t train = 0, test = 0;  // images
  std::vector<double> means;    // of the channels
};

// What a user asks for; 0 and "": is chosen.
struct InitWishes {
  std::string net;
  int size = 0;  // of a side of the net's input
  int epochs = 0;
  int batch = 0;
};

struct InitPlan {
  ZooNet net;
  std::string why;                          // the net
  ImageShape input;                         // of the net
  int resize_height = 0, resize_width = 0;  // what images are resized to; 0: they keep their size
  bool crop = false;                        // the input is cut out of that
  int batch = 0, test_batch = 0;
  double base_lr = 0;
  int epochs = 0, test_epochs = 0, snapshot_epochs = 0;  // the latter between tests and snapshots
  int64_t iterations = 0;                                // of one device, in all
  int64_t warmup = 0;                                    // iterations
};

// Channels, sizes and means; throws FileError for images of other than 1 and 3 channels. Colour
// images whose channels are all alike count as gray if `can_be_gray`.
ImageFacts FactsOfImages(const ImageStats& stats, bool can_be_gray);

InitPlan MakePlan(const ImageFacts& facts, const InitWishes& wishes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_INIT_PLAN_H_
