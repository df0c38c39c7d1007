#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/device.h>

#include <doctest/doctest.h>

namespace {

using headrace::DataError;
using headrace::Origin;

TEST_CASE("an origin says what is known of a sample") {
  CHECK(to_string(Origin{.index = 48213, .epoch = 3, .position = 17, .file = "cat/0192.jpg"}) ==
        "sample 48213 (epoch 3, position 17, cat/0192.jpg)");
  CHECK(to_string(Origin{.index = 5, .file = ""}) == "sample 5");
  CHECK(to_string(Origin{.index = 5, .part = 2, .file = "a.h5"}) == "sample 5 (part 2, a.h5)");
  CHECK(to_string(Origin{}) == "a sample");
}

TEST_CASE("a data error carries stage and origin in its message and as values") {
  const DataError error("decode",
                        {.index = 48213, .epoch = 3, .position = 17, .file = "cat/0192.jpg"},
                        "JPEG ends after 10 of 90 rows; replace the file");
  CHECK(
      std::string(error.what()) ==
      "[decode] sample 48213 (epoch 3, position 17, cat/0192.jpg): JPEG ends after 10 of 90 rows; "
      "replace the file");
  CHECK(error.stage() == "decode");
  CHECK(error.origin().position == 17);
  const DataError bare("rule broken");
  CHECK(std::string(bare.what()) == "rule broken");
  CHECK(bare.stage().empty());
  CHECK(bare.origin().index == -1);
}

TEST_CASE("devices have names") {
  CHECK(to_string(headrace::Device::cpu()) == "cpu");
  CHECK(to_string(headrace::Device::cuda(3)) == "cuda:3");
}

}  // namespace
