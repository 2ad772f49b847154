// Data files of random cases. The name of a file says what it contains, so that a prototxt alone is
// a whole case: `MakeDataFiles` writes the files that a net names. Same name, same bytes.
//
//   KIND_NxCxHxW_CLASSES_SEED[ENDING]
//
// N records of C x H x W with labels below CLASSES, drawn by SEED. "5x2" instead of "5" gives each
// record 2 labels. Records with several sizes are H x W or larger. Objects have the classes 1 to
// CLASSES - 1, and a name of their number in PASCAL VOC.
//
//   KIND                        ENDING          content
//   lmdb, leveldb + CONTENT                     a database; CONTENT is
//     ""                                          bytes
//     float                                       floats in [-1, 1)
//     png, jpeg                                   image files
//     mixed                                       both, gray and colour in turn, whatever C is
//     sizes                                       both, of several sizes
//     boxes, boxsizes                             SSD's annotated images, of one or several sizes
//     yolo                                        YOLO's annotated images
//   list, listjpeg              .txt            a list of PNGs or JPEGs with their labels
//   listmixed, listsizes        .txt            as in databases
//   paths                       .txt            a list of images without labels
//   pairs, pairsizes            .txt            images and images of labels, of one or several
//   sizes edges                       .txt            images and gray images windows .txt a window
//   file; 2 to 4 windows per image voc                         .txt            a list of images and
//   annotations of PASCAL VOC coco                        .json           annotations of COCO idx
//   -images-idx3-ubyte, -images-idx4-ubyte, either with .gz cifar, cifarfine            .bin a file
//   of CIFAR-10, of CIFAR-100 cifarfolder                                 a folder of CIFAR-10 with
//   N records for each phase mean, meanfloat             .binaryproto    a mean image of bytes, or
//   of floats in [-0.5, 0.5) video                       .y4m            a video of N frames
//
// The images of NAME.txt and NAME.json are in the folder NAME, which must be the layer's
// root_folder. The labels of idx files are beside them (-labels-idx1-ubyte); with several labels,
// their files are -labels0-idx1-ubyte, -labels1-idx1-ubyte, ...
//
//   numbers_N_SEED_NAME:KIND:LOW:HIGH:SHAPE;NAME:KIND:LOW:HIGH:SHAPE.txt
//
// A list of an HDF5 file with named data sets of N rows. KIND is that of an Extra (net_draft.h),
// SHAPE is that of a row, such as 3x4x5; empty: one number. The index of regions is 0, or below B
// if KIND is "regionsB". N may be a sum, 7+5+8, for several files.
#ifndef DOPPIO_TESTS_RANDOM_DATA_FILES_H_
#define DOPPIO_TESTS_RANDOM_DATA_FILES_H_

#include <string>

#include "proto/net.pb.h"

namespace doppio {

// Writes the files in `folder` that fields of `net` name by a path below `folder`, if their names
// follow the rule above and they are not there yet. Creates `folder`. A file appears as a whole;
// several threads and processes may write the same files at once. Throws FileError.
void MakeDataFiles(const NetParameter& net, const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_DATA_FILES_H_
