#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/sample.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::DataError;
using headrace::DType;
using headrace::Sample;
using headrace::Shape;
using headrace::Tensor;

TEST_CASE("fields are made, set, listed and removed") {
  Sample sample;
  sample.set_scalar("label", std::int64_t{7});
  sample.make("image", DType::uint8, {4, 4}).data<std::uint8_t>()[15] = 200;
  sample.set("weight", Tensor::scalar(0.5F));
  CHECK(sample["label"].item<std::int64_t>() == 7);
  CHECK(sample["image"].data<std::uint8_t>()[15] == 200);
  CHECK(sample.names() == std::vector<std::string>{"label", "image", "weight"});
  sample.remove("image");
  CHECK_FALSE(sample.has("image"));
  CHECK(sample.names() == std::vector<std::string>{"label", "weight"});
  sample.remove("image");
  sample.remove("never there");
}

TEST_CASE("a missing field is answered with the fields that exist") {
  Sample sample;
  CHECK_THROWS_WITH_AS((void)sample["x"], "[sample] field \"x\" is needed, this sample has none",
                       DataError);
  sample.set_scalar("a", 1);
  sample.set_scalar("b", 2);
  sample.bind_row("x", Tensor::scalar(1));
  CHECK_THROWS_WITH_AS((void)sample["x"], "[sample] field \"x\" is needed, this sample has: a, b",
                       DataError);
}

TEST_CASE("the value before stays readable while the next is written") {
  Sample sample;
  Tensor before = sample.make("x", DType::int32, {1000});
  before.data<std::int32_t>()[999] = 0;
  for (std::int32_t step = 1; step < 20; ++step) {
    const Tensor after = sample.make("x", DType::int32, {1000 + step % 3});
    CHECK(after.raw() != before.raw());
    CHECK(reinterpret_cast<std::uintptr_t>(after.raw()) % 64 == 0);
    after.data<std::int32_t>()[999] = before.data<std::int32_t>()[999] + 1;
    before = after;
  }
  CHECK(sample["x"].data<std::int32_t>()[999] == 19);
}

TEST_CASE("a field is written straight into its slab row when dtype and shape fit") {
  const Tensor slab = Tensor::zeros(DType::float32, {2, 8});
  Sample sample;
  sample.bind_row("x", slab.row(1));
  CHECK(sample.make("x", DType::float32, {8}).raw() == slab.row(1).raw());
  CHECK(sample["x"].keep() == slab.keep());
  CHECK(sample.pooled_bytes() == 0);

  sample.reset();
  sample.bind_row("x", slab.row(1));
  CHECK(sample.make("x", DType::float32, {7}).raw() != slab.row(1).raw());
  CHECK(sample.make("x", DType::uint8, {8}).raw() != slab.row(1).raw());
  CHECK(sample.make("x", DType::float32, {8}).raw() == slab.row(1).raw());
}

TEST_CASE("steps of the same shape alternate between the row and pooled memory") {
  const Tensor slab = Tensor::zeros(DType::uint8, {1, 100});
  Sample sample;
  sample.bind_row("x", slab.row(0));
  const void* row = slab.raw();
  CHECK(sample.make("x", DType::uint8, {100}).raw() == row);
  const void* pooled = sample.make("x", DType::uint8, {100}).raw();
  CHECK(pooled != row);
  CHECK(sample.make("x", DType::uint8, {100}).raw() == row);
  CHECK(sample.make("x", DType::uint8, {100}).raw() == pooled);
}

TEST_CASE("a view of the row or of pooled memory that was set back is not written over") {
  const Tensor slab = Tensor::zeros(DType::uint8, {1, 12});
  Sample sample;
  sample.bind_row("x", slab.row(0));
  sample.make("x", DType::uint8, {12});
  sample.set("x", sample["x"].reshaped({3, 4}).row(1));
  const Tensor part = sample["x"];
  CHECK(sample.make("x", DType::uint8, {12}).raw() != slab.raw());
  part.data<std::uint8_t>()[0] = 5;
  CHECK(slab.data<std::uint8_t>()[4] == 5);

  const Tensor pooled = sample["x"];
  sample.set("x", pooled.reshaped({4, 3}).row(3));
  sample.bind_row("x", Tensor());
  const Tensor next = sample.make("x", DType::uint8, {12});
  CHECK(next.raw() != pooled.raw());
}

TEST_CASE("the sample's own memory is edited where it is, what is borrowed is copied first") {
  Sample sample;
  std::vector<float> cached = {1, 2, 3};
  sample.set("x", Tensor::borrow(cached.data(), DType::float32, Shape{3}));
  sample.edit("x").data<float>()[1] = 9;
  CHECK(cached == std::vector<float>{1, 2, 3});
  CHECK(sample["x"].values<float>()[0] == 1);
  CHECK(sample["x"].values<float>()[1] == 9);
  const void* own = sample["x"].raw();
  CHECK(sample.edit("x").raw() == own);
  std::vector<float> slab(3);
  sample.bind_row("x", Tensor::borrow(slab.data(), DType::float32, Shape{3}));
  CHECK(sample.make("x", DType::float32, Shape{3}).raw() == slab.data());
  CHECK(sample.edit("x").raw() == slab.data());
  CHECK_THROWS_AS((void)sample.edit("y"), DataError);
}

TEST_CASE("a removed field's memory is not the next to be written") {
  Sample sample;
  const Tensor before = sample.make("x", DType::uint8, {64});
  sample.remove("x");
  CHECK(sample.make("x", DType::uint8, {64}).raw() != before.raw());
}

TEST_CASE("a warm sample takes no more memory and gives the same addresses again") {
  Sample sample;
  const auto work = [&](std::int64_t width) {
    sample.reset();
    std::vector<const void*> addresses;
    for (const std::int64_t w : {width, width + 1, width + 2}) {
      addresses.push_back(sample.make("image", DType::uint8, {w, 10}).raw());
    }
    sample.set_scalar("label", 1.0);
    return addresses;
  };
  const auto first = work(500);
  const std::size_t warm = sample.pooled_bytes();
  CHECK(warm >= 5010 + 5020 + 8);
  for (const std::int64_t width : {500, 3, 499, 0, 500})
    work(width);
  CHECK(sample.pooled_bytes() == warm);
  CHECK(work(200)[0] == work(200)[0]);
  CHECK(first.size() == 3);
}

TEST_CASE("reset forgets values, rows and what they kept alive, not the pooled memory") {
  auto keep = std::make_shared<int>(1);
  Sample sample;
  sample.make("x", DType::uint8, {100});
  sample.set("y", Tensor::borrow(keep.get(), DType::int32, {}, keep));
  sample.bind_row("x", Tensor::borrow(keep.get(), DType::int32, {}, keep));
  const std::size_t pooled = sample.pooled_bytes();
  CHECK(keep.use_count() == 3);
  sample.reset();
  CHECK(keep.use_count() == 1);
  CHECK(sample.names().empty());
  CHECK(sample.pooled_bytes() == pooled);
}

TEST_CASE("samples move with their fields") {
  Sample sample;
  sample.set_scalar("a", 3);
  sample.origin().index = 12;
  Sample other = std::move(sample);
  CHECK(other["a"].item<int>() == 3);
  CHECK(other.origin().index == 12);
}

}  // namespace
