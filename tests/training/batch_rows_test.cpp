// Pieces of a batch, and where the order would go on behind them.
#include <headrace/engine/plan/pipeline.h>
#include <headrace/training/detail/batch_rows.h>

#include "trainer_run.h"

#include <vector>

using namespace headrace::training;
using headrace::BadSamples;
using headrace::Batch;
using headrace::Tail;
using headrace::training::detail::is_padding_from;
using headrace::training::detail::position_behind;

namespace {

// Of 50 records, the sixth of which cannot be read.
headrace::Pipeline shrinking() {
  return headrace::Pipeline::from(PatternSource(50))
      .then([](headrace::Sample& sample) {
        if (sample.origin().index == 5) throw headrace::DataError("the record is truncated");
      })
      .on_bad_sample({.rule = BadSamples::Rule::shrink});
}

std::vector<std::int64_t> positions(headrace::Loader& loader, std::int64_t rows) {
  std::vector<std::int64_t> all;
  for (const Batch& batch : loader.epoch(0))
    for (std::int64_t first = 0; first < batch.size(); first += rows)
      if (first == 0 || !is_padding_from(batch, first))
        all.push_back(position_behind(batch, {.first = first, .last = first + rows}));
  return all;
}

}  // namespace

TEST_CASE("a piece ends where a batch of its own would end") {
  const auto loader = [](std::int64_t size, bool own_valid) {
    headrace::Pipeline pipeline = shrinking().batch({.size = size, .tail = Tail::pad});
    if (own_valid)
      pipeline = headrace::Pipeline(std::move(pipeline)).then([](Batch& batch) {
        batch.make("valid", headrace::DType::boolean, headrace::Shape{batch.size()});
      });
    return std::move(pipeline).build();
  };
  for (const bool own_valid : {false, true}) {
    CAPTURE(own_valid);
    headrace::Loader whole = loader(8, own_valid);
    headrace::Loader pieces = loader(4, own_valid);
    const std::vector<std::int64_t> expected = positions(pieces, 4);
    CHECK(expected.size() == 13);
    CHECK(expected.back() == 50);
    CHECK((positions(whole, 4) == expected));
  }
}

TEST_CASE("rows that were left out of a batch are no padding") {
  headrace::Loader loader =
      headrace::Pipeline::from(PatternSource(8))
          .then([](headrace::Sample& sample) {
            if (sample.origin().index >= 4) throw headrace::DataError("the record is truncated");
          })
          .on_bad_sample({.rule = BadSamples::Rule::shrink, .most_share = 1.0})
          .batch({.size = 8})
          .build();
  const Batch batch = loader.next().batch;
  CHECK(batch.valid_rows() == 4);
  CHECK_FALSE(is_padding_from(batch, 4));
}
