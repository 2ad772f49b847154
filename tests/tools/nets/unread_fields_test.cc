// Tests the warnings about messages that a layer does not read.
#include "tools/nets/unread_fields.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/net/contract/layer.h"
#include "tools/cli/word_list.h"
#include "tools/nets/lint.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> Texts(const std::string& layer) {
  NetParameter net;
  const FieldPlaces places = ParseText("layer { name: 'a'\n" + layer + " }", "net.prototxt", &net);
  std::vector<std::string> texts;
  for (const Warning& w : IgnoredFields(net, places))
    texts.push_back(w.at.ToString() + ": " + w.message);
  return texts;
}

TEST(UnreadFields, NameTheTypeThatReadsThem) {
  EXPECT_THAT(
      Texts("type: 'InnerProduct' inner_product_param { num_output: 2 }\n"
            "dropout_param { dropout_ratio: 0.9 }"),
      ElementsAre("net.prototxt:3:1: layer 'a': dropout_param has no effect in a layer of type "
                  "InnerProduct, which reads inner_product_param; dropout_param is for Dropout"));
  EXPECT_THAT(
      Texts("type: 'SoftmaxWithLoss' infogain_loss_param { source: 'nope.bin' }"),
      ElementsAre("net.prototxt:2:25: layer 'a': infogain_loss_param has no effect in a layer of "
                  "type SoftmaxWithLoss, which reads loss_param and softmax_param; "
                  "infogain_loss_param is for InfogainLoss"));
  EXPECT_THAT(
      Texts("type: 'ReLU' elu_param { alpha: 2 }"),
      ElementsAre("net.prototxt:2:14: layer 'a': elu_param has no effect in a layer of type "
                  "ReLU, which reads relu_param; elu_param is for ELU"));
}

TEST(UnreadFields, NameTheMessageThatHasTheSameFields) {
  EXPECT_THAT(
      Texts("type: 'Accuracy'\nloss_param { ignore_label: 1 }"),
      ElementsAre("net.prototxt:3:1: layer 'a': loss_param has no effect in a layer of type "
                  "Accuracy; set ignore_label in accuracy_param"));
  EXPECT_THAT(Texts("type: 'Data' data_param { source: 's' }\n"
                    "image_data_param { shuffle: true new_height: 8 }"),
              ElementsAre("net.prototxt:3:1: layer 'a': image_data_param has no effect in a layer "
                          "of type Data; set shuffle in data_param"));
}

// A layer in Python that --set makes one of Doppio keeps its python_param.
TEST(UnreadFields, AreWhatALayerInPythonLeaves) {
  EXPECT_THAT(Texts("type: 'SpatialDropout' python_param { param_str: \"'p': 0.01\" }"),
              ElementsAre(StartsWith("net.prototxt:2:24: layer 'a': python_param has no effect in "
                                     "a layer of type SpatialDropout, which reads "
                                     "spatial_dropout_param")));
  EXPECT_THAT(Texts("type: 'Proposal' python_param { param_str: \"'feat_stride': 16\" }"),
              IsEmpty());
}

TEST(UnreadFields, MayBeSingleOnes) {
  EXPECT_THAT(
      Texts("type: 'ImageData' image_data_param { batch_size: 1 }\n"
            "data_param { prefetch: 2 source: 's' }"),
      ElementsAre("net.prototxt:3:26: layer 'a': data_param.source has no effect in a layer "
                  "of type ImageData; set source in image_data_param"));
  EXPECT_THAT(Texts("type: 'Data'\ntransform_param { scale: 2 emit_constraint { } }"),
              ElementsAre("net.prototxt:3:28: layer 'a': transform_param.emit_constraint has no "
                          "effect in a layer of type Data"));
  EXPECT_THAT(Texts("type: 'AnnotatedData' transform_param { emit_constraint { } }"), IsEmpty());
  EXPECT_THAT(
      Texts("type: 'SmoothL1Loss' loss_param { normalization: VALID ignore_label: 1 }"),
      ElementsAre("net.prototxt:2:56: layer 'a': loss_param.ignore_label has no effect in a "
                  "layer of type SmoothL1Loss"));
}

TEST(UnreadFields, AreReportedOnceForEveryTypeAndMessage) {
  const auto& schema = *LayerParameter::descriptor();
  for (const std::string& type : LayerTypes::Get().Names()) {
    std::vector<std::string> read = ReadMessages(type);
    const LayerType& declared = *LayerTypes::Get().Find(type);
    for (const std::vector<std::string>& more :
         {declared.further_fields, declared.refused_fields}) {
      for (const std::string& path : more) read.push_back(path.substr(0, path.find('.')));
    }
    for (int i = 0; i < schema.field_count(); ++i) {
      const std::string& name = schema.field(i)->name();
      if (!EndsWith(name, "_param")) continue;
      const bool without_effect = !Contains(read, name) || HasNoEffectHere(*schema.field(i));
      EXPECT_EQ(Texts("type: '" + type + "' " + name + " { }").size(), without_effect ? 1u : 0u)
          << type << ", " << name;
    }
  }
}

}  // namespace
}  // namespace doppio
