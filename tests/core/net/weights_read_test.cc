#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "core/net/store/weights.h"
#include "tests/core/net/weight_files.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TEST(ReadWeights, GivesNamesTypesAndBlobs) {
  const WeightsFile file = ReadWeights(Saved(TwoLayers()));
  ASSERT_EQ(file.layers.size(), 2u);
  EXPECT_EQ(file.layers[0].name, "conv");
  EXPECT_EQ(file.layers[0].type, "Convolution");
  EXPECT_EQ(file.layers[1].blobs[0].shape, (Shape{3, 4}));
  EXPECT_EQ(file.layers[1].blobs[1].data, (std::vector<float>{50, 51, 52}));
}

// Writes an HDF5 file with linked groups. With `cycle`, "/data/a/again" is "/data/a". Otherwise
// "/data/a/1" and "/data/a/2" are "/data/b", and so on.
std::string LinkedGroups(const std::string& name, bool cycle) {
  std::string path = Temporary(name);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "/data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const int groups = cycle ? 1 : 40;
  for (int i = groups; i >= 1; --i) {
    const std::string group = "/data/" + std::to_string(i);
    H5Gclose(H5Gcreate2(file, group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const std::string target = cycle ? group : "/data/" + std::to_string(i + 1);
    for (const char* link : {"/x", "/y"}) {
      if (!cycle && i == groups) break;
      H5Lcreate_hard(file, target.c_str(), file, (group + link).c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
  }
  H5Fclose(file);
  return path;
}

TEST(ReadWeights, RefusesHdf5GroupsThatContainThemselves) {
  const std::string path = LinkedGroups("cycle.caffemodel.h5", true);
  EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(path); }),
            "'" + path +
                "' is not a .caffemodel.h5: its groups are nested more than 100 levels deep; one "
                "of them may contain itself");
}

TEST(ReadWeights, RefusesHdf5GroupsOfTooManyNames) {
  const std::string path = LinkedGroups("names.caffemodel.h5", false);
  EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(path); }),
            "'" + path + "' is not a .caffemodel.h5: it has more than 20000 groups");
}

// Writes a data set of given dimensions without data, in chunks of up to `extent` elements along
// each axis. HDF5 reads it as zeros.
std::string Stated(const std::string& file_name, const std::string& data_set,
                   const std::vector<hsize_t>& dims, hsize_t extent = 1024) {
  std::string path = Temporary(file_name);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t made = H5Pcreate(H5P_DATASET_CREATE), groups = H5Pcreate(H5P_LINK_CREATE);
  std::vector<hsize_t> chunk;
  for (const hsize_t dim : dims) chunk.push_back(std::min(dim, extent));
  H5Pset_chunk(made, static_cast<int>(dims.size()), chunk.data());
  H5Pset_create_intermediate_group(groups, 1);
  const hid_t data =
      H5Dcreate2(file, data_set.c_str(), H5T_IEEE_F32LE, space, groups, made, H5P_DEFAULT);
  EXPECT_GE(data, 0);
  H5Dclose(data);
  H5Pclose(groups);
  H5Pclose(made);
  H5Sclose(space);
  H5Fclose(file);
  return path;
}

TEST(ReadWeights, RefusesHdf5DataSetsThatStateMoreThanTheyHold) {
  const std::string wraps = Stated("wraps.caffemodel.h5", "/data/ip/0", {64, 536838145, 536903681});
  EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(wraps); }),
            "'" + wraps +
                "' is not a .caffemodel.h5: its data set '/data/ip/0' has more than the limit of "
                "17179869184 elements");
  const std::string large = Stated("large.caffemodel.h5", "/data/ip/0", {1 << 24, 512});
  EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(large); }),
            "'" + large +
                "' is not a .caffemodel.h5: its data set '/data/ip/0' states 8589934592 elements, "
                "but the file holds only 0 bytes of them");
  const std::string zeros = Stated("zeros.caffemodel.h5", "/data/ip/0", {2, 3});
  EXPECT_EQ(ReadWeights(zeros).layers[0].blobs[0].data, std::vector<float>(6));
}

// The library takes some microseconds for each chunk, stored or not.
TEST(ReadWeights, RefusesHdf5DataSetsOfManyMissingChunks) {
  const std::string many = Stated("many.caffemodel.h5", "/data/ip/0", {1 << 12, 1 << 10}, 1);
  EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(many); }),
            "'" + many +
                "' is not a .caffemodel.h5: its data set '/data/ip/0' is divided into 4194304 "
                "chunks, but the file holds only 0 bytes of them");
  const std::string few = Stated("few.caffemodel.h5", "/data/ip/0", {32, 32}, 1);
  EXPECT_EQ(ReadWeights(few).layers[0].blobs[0].data, std::vector<float>(1024));
}

TEST(ReadWeights, RefusesADataSetOfManyNames) {
  const std::string path = Stated("names_of_one.caffemodel.h5", "/data/ip/0", {1 << 12, 1 << 10});
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t groups = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(groups, 1);
  for (int i = 0; i < 8; ++i) {
    const std::string link = "/data/ip" + std::to_string(i) + "/0";
    H5Lcreate_hard(file, "/data/ip/0", file, link.c_str(), groups, H5P_DEFAULT);
  }
  H5Pclose(groups);
  H5Fclose(file);
  const std::string bytes = std::to_string(FileBytes(path));
  EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(path); }),
            "'" + path + "' is not a .caffemodel.h5: its data sets up to '/data/ip3/0' state " +
                "20971520 elements, but it has only " + bytes +
                " bytes; one of them may have several names");
}

TEST(ReadWeights, RefusesABlobOfMoreAxesThanCaffeHas) {
  NetParameter net;
  BlobProto* blob = net.add_layer()->add_blobs();
  for (int i = 0; i < 33; ++i) blob->mutable_shape()->add_dim(1);
  blob->add_data(1);
  const std::string path = Saved(net);
  EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(path); }),
            "'" + path + "' is not a .caffemodel: a blob has 33 axes, more than the limit of 32");
}

// Extents and types are varints of up to 64 bits.
TEST(ReadWeights, KeepsNoLowerBitsOfLargeNumbers) {
  const std::string blob("\x08\x81\x80\x80\x80\x10\x10\x01\x18\x01\x20\x01\x2d\0\0\0\0", 17);
  WriteBytes(Temporary("num.caffemodel"), "\xa2\x06\x13\x3a\x11" + blob);  // num: 2^32 + 1
  ExpectContains(Mistake<FileError>([] { ReadWeights(Temporary("num.caffemodel")); }),
                 "a blob of shape -1x1x1x1 has 1 value");
  // type: 2^32 + 1
  WriteBytes(Temporary("type.caffemodel"), "\x12\x06\x28\x81\x80\x80\x80\x10");
  EXPECT_EQ(ReadWeights(Temporary("type.caffemodel")).layers[0].type, "4294967297");
}

// An object in memory is much larger than an empty message.
TEST(ReadWeights, RefusesMoreLayersOrBlobsThanAFileOfItsSizeHas) {
  const auto repeated = [](const std::string& message) {
    std::string bytes;
    for (int i = 0; i < 150'000; ++i) bytes += message;
    return bytes;
  };
  const std::string blobs = repeated(std::string("\x3a\0", 2));
  const std::string nets[] = {repeated(std::string("\xa2\x06\0", 3)),
                              "\xa2\x06\xe0\xa7\x12" + blobs};
  ASSERT_EQ(blobs.size(), 0x493e0u);
  for (const std::string& net : nets) {
    WriteBytes(Temporary("many.caffemodel"), net);
    ExpectContains(Mistake<FileError>([] { ReadWeights(Temporary("many.caffemodel")); }),
                   "it has more than 100000 layers, blobs and other parts");
  }
}

TEST(ReadWeights, ReadsV1AndV0LayersWithFourAxes) {
  NetParameter net;
  V1LayerParameter* v1 = net.add_layers();
  v1->set_name("new");
  v1->set_type(V1LayerParameter::INNER_PRODUCT);
  BlobProto* blob = v1->add_blobs();
  blob->set_num(1);
  blob->set_channels(1);
  blob->set_height(2);
  blob->set_width(3);
  for (int i = 0; i < 6; ++i) blob->add_data(static_cast<float>(i));
  V0LayerParameter* v0 = net.add_layers()->mutable_layer();
  v0->set_name("old");
  v0->set_type("innerproduct");
  *v0->add_blobs() = *blob;
  const WeightsFile file = ReadWeights(Saved(net));
  EXPECT_EQ(file.layers[0].type, "INNER_PRODUCT");
  EXPECT_EQ(file.layers[1].name, "old");
  EXPECT_EQ(file.layers[1].type, "innerproduct");
  for (const LayerBlobs& layer : file.layers) {
    EXPECT_EQ(layer.blobs[0].shape, (Shape{1, 1, 2, 3}));
    EXPECT_EQ(layer.blobs[0].data, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  }
}

TEST(ReadWeights, ReadsUnpackedDoubleAndRawValues) {
  NetParameter net;
  LayerParameter* layer = net.add_layer();
  layer->set_name("a");
  BlobProto* wide = layer->add_blobs();
  wide->mutable_shape()->add_dim(2);
  wide->add_double_data(0.5);
  wide->add_double_data(-2);
  BlobProto* half = layer->add_blobs();  // values 1, -2 and the smallest subnormal, 2^-24
  half->mutable_shape()->add_dim(3);
  half->set_raw_data(std::string("\x00\x3c\x00\xc0\x01\x00", 6));
  // The format of old writers: tag 5 with a fixed32 for each value, and no shape message.
  std::string unpacked;
  {
    google::protobuf::io::StringOutputStream stream(&unpacked);
    google::protobuf::io::CodedOutputStream out(&stream);
    for (int field = 1; field <= 4; ++field) {
      out.WriteTag(static_cast<uint32_t>(field << 3));
      out.WriteVarint32(field == 4 ? 2 : 1);
    }
    for (uint32_t bits : {0x3f800000u, 0x40000000u}) {
      out.WriteTag(5 << 3 | 5);
      out.WriteLittleEndian32(bits);
    }
  }
  std::string bytes = net.SerializeAsString();
  // Appends a layer: { name: "u" blobs { ... } }.
  const std::string inner =
      std::string("\x0a\x01u\x3a") + static_cast<char>(unpacked.size()) + unpacked;
  bytes += std::string("\xa2\x06") + static_cast<char>(inner.size()) + inner;
  WriteBytes(Temporary("styles.caffemodel"), bytes);
  const WeightsFile file = ReadWeights(Temporary("styles.caffemodel"));
  EXPECT_EQ(file.layers[0].blobs[0].data, (std::vector<float>{0.5, -2}));
  EXPECT_EQ(file.layers[0].blobs[1].data, (std::vector<float>{1, -2, 0x1p-24f}));
  EXPECT_EQ(file.layers[1].blobs[0].shape, (Shape{1, 1, 1, 2}));
  EXPECT_EQ(file.layers[1].blobs[0].data, (std::vector<float>{1, 2}));
}

TEST(ReadWeights, OnlyTrustsNamesTypesAndBlobs) {
  // Field 145 is a number, and 147 is text that is no message. Forks use BVLC's field numbers this
  // way.
  const std::string bytes("\xa2\x06\x0d\x0a\x01q\x88\x09\x02\x9a\x09\x04\xff\xff\xff\xff", 16);
  WriteBytes(Temporary("fork.caffemodel"), bytes);
  EXPECT_EQ(ReadWeights(Temporary("fork.caffemodel")).layers[0].name, "q");
}

TEST(ReadWeights, ReadsATextFile) {
  WriteBytes(Temporary("w.prototxt"),
             "layer { name: 'a' type: 'Bias' blobs { shape { dim: 2 } data: 1 data: 4 } }");
  EXPECT_EQ(ReadWeights(Temporary("w.prototxt")).layers[0].blobs[0].data,
            (std::vector<float>{1, 4}));
}

TEST(ReadWeights, NoticesEveryCutExceptBehindALayer) {
  const NetParameter net = TwoLayers();
  const std::string bytes = net.SerializeAsString();
  const size_t first_layer = 3 + net.layer(0).ByteSizeLong();  // a tag of 2 bytes and a length of 1
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    SCOPED_TRACE(std::to_string(cut) + " " + std::to_string(first_layer));
    WriteBytes(Temporary("cut.caffemodel"), bytes.substr(0, cut));
    if (cut == first_layer) {
      EXPECT_EQ(ReadWeights(Temporary("cut.caffemodel")).layers.size(), 1u);
    } else {
      ExpectContains(Mistake<FileError>([] { ReadWeights(Temporary("cut.caffemodel")); }),
                     "is not a .caffemodel");
    }
  }
}

TEST(ReadWeights, NeverCrashesOnDamage) {
  const std::string good = TwoLayers().SerializeAsString();
  int refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      WriteBytes(Temporary("flip.caffemodel"), bad);
      try {
        ReadWeights(Temporary("flip.caffemodel"));
      } catch (const FileError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(ReadWeights, ReadsAPipe) {
  const std::string bytes = TwoLayers().SerializeAsString();
  const std::string path = Temporary("pipe.caffemodel");
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
  EXPECT_EQ(ReadWeights(path).layers.size(), 2u);
  writer.join();
  EXPECT_EQ(ReadWeights(path).layers.size(), 2u);  // each replica reads the file again
}

TEST(ReadWeights, RefusesAPipeOfHdf5) {
  const std::string path = Temporary("pipe.caffemodel.h5");
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << "\x89HDF\r\n\x1a\n"; });
  ExpectContains(Mistake<FileError>([&] { ReadWeights(path); }),
                 "is a pipe, and an HDF5 file cannot be read from a pipe");
  writer.join();
}

TEST(ReadWeights, SaysWhatAFileOfAnotherKindIs) {
  const auto mistake = [](const std::string& name, const std::string& bytes) {
    WriteBytes(Temporary(name), bytes);
    return Mistake<FileError>([&] { ReadWeights(Temporary(name)); });
  };
  ExpectContains(mistake("a.solverstate",
                         "\x08\x02\x12\x0c"
                         "a.caffemodel"),
                 "a.solverstate' is not a .caffemodel: it is a solver state (.solverstate); pass "
                 "it with --snapshot or --resume");
  ExpectContains(mistake("images", std::string("\0\0\x08\x03", 4)),
                 "images' is not a .caffemodel: it is an IDX file (MNIST's format)");
  ExpectContains(mistake("packed.h5", "\x1f\x8b"),
                 "packed.h5' is not a .caffemodel.h5: it is a gzip file; unpack it");
}

TEST(ReadWeights, NamesTheNearestFile) {
  WriteBytes(Temporary("lenet_iter_500.caffemodel"), TwoLayers().SerializeAsString());
  ExpectContains(Mistake<FileError>([] { ReadWeights(Temporary("lenet_itr_500.caffemodel")); }),
                 "/lenet_iter_500.caffemodel'?");
}

TEST(ReadWeights, SaysWhatIsWrong) {
  ExpectContains(Mistake<FileError>([] { ReadWeights("/no/such.caffemodel"); }),
                 "cannot read '/no/such.caffemodel'");
  ExpectContains(Mistake<FileError>([] { ReadWeights("/no/such.caffemodel.h5"); }),
                 "cannot read '/no/such.caffemodel.h5'");
  ExpectContains(Mistake<FileError>([] { ReadWeights(testing::TempDir()); }), "Is a directory");
  WriteBytes(Temporary("empty.caffemodel"), "");
  ExpectContains(Mistake<FileError>([] { ReadWeights(Temporary("empty.caffemodel")); }),
                 "it is empty");
  WriteBytes(Temporary("text.caffemodel"), "name: \"x\"\n");
  ExpectContains(Mistake<FileError>([] { ReadWeights(Temporary("text.caffemodel")); }),
                 "is not a .caffemodel");
  WriteBytes(Temporary("text.h5"), "name: \"x\"\n");
  ExpectContains(Mistake<FileError>([] { ReadWeights(Temporary("text.h5")); }),
                 "it is not an HDF5 file");
  NetParameter net = TwoLayers();
  net.mutable_layer(1)->mutable_blobs(0)->mutable_data()->RemoveLast();
  ExpectContains(Mistake<FileError>([&] { ReadWeights(Saved(net)); }),
                 "a blob of shape 3x4 has 11 values");
  net.mutable_layer(1)->mutable_blobs(0)->mutable_shape()->set_dim(0, int64_t{1} << 62);
  ExpectContains(Mistake<FileError>([&] { ReadWeights(Saved(net)); }), "has 11 values");
}

}  // namespace
}  // namespace doppio
