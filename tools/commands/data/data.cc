// `data`: creates, checks and displays data sets.
#include "tools/cli/command.h"
#include "tools/cli/verbs.h"
#include "tools/cli/word_list.h"
#include "tools/commands/data/verbs.h"

namespace doppio {
namespace {

const std::vector<Verb>& DataVerbs() {
  static const auto* verbs = new std::vector<Verb>{
      {"bench", "measures how fast data can be read, decoded and cropped", "DATA",
       Words("backend root_folder transform resize_width resize_height batch seconds "
             "data_threads max_pixels json"),
       "doppio data bench train_lmdb", &DataBench},
      {"convert", "converts a list or folder of images, or MNIST's or CIFAR's files, to a database",
       "LIST|FOLDER|FILE DB",
       Words("backend root_folder gray shuffle seed resize_width resize_height check_size "
             "encoded encode_type exif_rotation sixteen_bit_range skip_bad data_threads max_pixels "
             "json"),
       "doppio data convert --resize_height=256 --resize_width=256 --shuffle photos train_lmdb",
       &DataConvert},
      {"mean", "computes the mean of a database's images, for mean_file and mean_value",
       "DB [FILE]", Words("backend exif_rotation sixteen_bit_range data_threads max_pixels json"),
       "doppio data mean train_lmdb mean.binaryproto", &DataMean},
      {"preview",
       "writes a page with some of the images and their labels",
       "DATA [PAGE]",
       {"backend", "root_folder", "count", "rgb", "augmented", "set", "unset", "seed", "max_pixels",
        "json"},
       "doppio data preview train_lmdb preview.html",
       &DataPreview},
      {"split",
       "splits a list or folder of images into parts, such as train and test",
       "LIST|FOLDER [INTO]",
       {"fractions", "names", "seed", "json"},
       "doppio data split photos lists --fractions=0.9,0.1 --names=train,test",
       &DataSplit},
      {"stat", "counts images, sizes and classes, and computes the mean of each channel", "DATA",
       Words("backend root_folder exif_rotation sixteen_bit_range data_threads max_pixels json"),
       "doppio data stat train_lmdb", &DataStat},
      {"verify",
       "reads every record and lists the damaged ones",
       "DATA",
       {"backend", "root_folder", "data_threads", "max_pixels", "json"},
       "doppio data verify train_lmdb",
       &DataVerify},
  };
  return *verbs;
}

DOPPIO_REGISTER(Commands, "data",
                CommandOfVerbs("converts, splits, checks, shows and measures data sets",
                               DataVerbs(),
                               "doppio data convert --resize_height=256 --resize_width=256 "
                               "--shuffle photos train_lmdb"));

}  // namespace
}  // namespace doppio
