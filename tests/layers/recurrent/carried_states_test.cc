#include "layers/recurrent/carried_states.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

// Two streams of three hidden units, with the states h and c.
RecurrentForm LstmForm() {
  RecurrentForm form;
  form.lstm = true;
  form.hidden = 3;
  form.streams = 2;
  form.states = 2;
  return form;
}

TEST(CarriedStates, ReadsWhatItWasGiven) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  CarriedStates<double> states(device.get(), LstmForm(), DType::kFloat64);
  EXPECT_EQ(states.bytes(), 2 * 6 * 8);
  states.Allocate();
  std::vector<PlainBlob> blobs = states.Read();
  ASSERT_EQ(blobs.size(), 2u);
  EXPECT_EQ(blobs[1].shape, (Shape{1, 2, 3}));
  EXPECT_EQ(blobs[1].data, std::vector<float>(6));
  blobs[0].data = {1, 2, 3, 4, 5, 6};
  blobs[1].data[5] = 7;
  states.Write(blobs);
  EXPECT_EQ(states.After(0)[0], 1);
  EXPECT_EQ(states.After(0) + 6, states.After(1));
  EXPECT_EQ(states.After(1)[5], 7);
  EXPECT_EQ(states.Before(1)[5], 0);
  EXPECT_EQ(states.Read()[0].data, blobs[0].data);
}

TEST(CarriedStates, AreNoneIfTheyAreExposed) {
  RecurrentForm form = LstmForm();
  form.exposed = true;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  CarriedStates<float> states(device.get(), form, DType::kFloat32);
  states.Allocate();
  EXPECT_EQ(states.bytes(), 0);
  EXPECT_EQ(device->bytes_in_use(), 0);
  EXPECT_TRUE(states.Read().empty());
}

}  // namespace
}  // namespace doppio
