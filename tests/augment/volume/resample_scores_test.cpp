#include <headrace/augment/volume/resample_scores.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Floats;
using headrace::test::StoredValues;
using Rule = ScoreResampling::Rule;

namespace {

constexpr GridExtent given_extent{6, 7, 8};
const GridExtent sizes[] = {{9, 5, 8}, {4, 11, 13}};

std::string text(const GridExtent& size) {
  return std::to_string(size[0]) + " " + std::to_string(size[1]) + " " + std::to_string(size[2]);
}

const Floats& scores() {
  return StoredValues::of_predictions().floats("scores");
}

/// Made so many slices at a time.
Floats resampled(const ScoreResampling& resampling, std::int64_t slices) {
  const std::int64_t plane = resampling.to[1] * resampling.to[2];
  const std::int64_t channel = resampling.to[0] * plane;
  Floats all(static_cast<std::size_t>(resampling.channels * channel));
  ScoreResampler resampler(resampling);
  for (std::int64_t z = 0; z < resampling.to[0]; z += slices) {
    const std::int64_t last = std::min(z + slices, resampling.to[0]);
    const std::int64_t count = (last - z) * plane;
    Floats part(static_cast<std::size_t>(resampling.channels * count));
    resampler.slices(scores(), z, last, part);
    for (std::int64_t c = 0; c < resampling.channels; ++c)
      std::copy_n(part.begin() + c * count, count, all.begin() + c * channel + z * plane);
  }
  return all;
}

}  // namespace

TEST_CASE("scores come to another grid as PyTorch interpolates them") {
  for (const GridExtent& to : sizes) {
    CAPTURE(text(to));
    const Floats& linear = StoredValues::of_predictions().floats("linear " + text(to));
    const Floats& cubic = StoredValues::of_predictions().floats("cubic " + text(to));
    CHECK(test::most_apart(resampled({3, given_extent, to}, 100), linear) < 1e-6);
    CHECK(test::most_apart(resampled({3, given_extent, to, Rule::cubic}, 100), cubic) < 2e-6);
    CHECK(test::most_apart(linear, cubic) > 1e-2);
  }
}

TEST_CASE("scores are the same however many slices are made at a time, and unchanged on one grid") {
  const ScoreResampling resampling{3, given_extent, sizes[1], Rule::cubic};
  CHECK(resampled(resampling, 1) == resampled(resampling, 3));
  CHECK(resampled({3, given_extent, given_extent}, 2) == scores());
  CHECK(resampled({3, given_extent, given_extent, Rule::cubic}, 2) == scores());
}

TEST_CASE("labels of scores on another grid are PyTorch's") {
  for (const GridExtent& to : sizes) {
    const Bytes& expected = StoredValues::of_predictions().bytes("labels " + text(to));
    Bytes labels(expected.size());
    labels_of_scores(scores(), {3, given_extent, to}, {}, labels);
    CHECK(labels == expected);
    std::vector<std::int16_t> wide(expected.size());
    labels_of_scores(scores(), {3, given_extent, to}, {}, wide);
    CHECK(std::ranges::equal(wide, expected));
  }
}

TEST_CASE("of equal scores the first channel wins, and one channel is cut at a threshold") {
  Bytes labels(4);
  const GridExtent line{1, 1, 4};
  labels_of_scores(Floats{1, 1, 0, 0, 1, 2, 0, -1}, {2, line, line}, {}, labels);
  CHECK(labels == Bytes{0, 1, 0, 0});
  labels_of_scores(Floats{.41F, .42F, .43F, 1}, {1, line, line}, .42F, labels);
  CHECK(labels == Bytes{0, 0, 1, 1});
  const float none = -std::numeric_limits<float>::infinity();  // a class that is shut out
  labels_of_scores(Floats{1, 1, 1, 1, none, none, none, none}, {2, line, line}, {}, labels);
  CHECK(labels == Bytes(4, 0));
  // A neighbour whose share is 0 does not count, whatever it is.
  labels_of_scores(Floats{1, 1, 3, none}, {2, {1, 1, 2}, line}, {}, labels);
  CHECK(labels == Bytes{1, 0, 0, 0});
  labels_of_scores(Floats{1, 1, 3, none}, {2, {2, 1, 1}, {4, 1, 1}}, {}, labels);
  CHECK(labels == Bytes{1, 0, 0, 0});
}

TEST_CASE("as many channels as labels have values are told apart") {
  const GridExtent line{1, 1, 2};
  Floats scores(2 * 256, 0.0F);
  scores[2 * 255] = 1.0F;
  scores[2 * 128 + 1] = 1.0F;
  Bytes labels(2);
  labels_of_scores(scores, {256, line, line}, {}, labels);
  CHECK(labels == Bytes{255, 128});
  scores.resize(2 * 257);
  CHECK_THROWS_AS(labels_of_scores(scores, {257, line, line}, {}, labels), ConfigError);
  std::vector<std::int16_t> wide(2);
  scores.resize(2 * 32768);
  scores[2 * 32767 + 1] = 2.0F;
  labels_of_scores(scores, {32768, line, line}, {}, wide);
  CHECK(wide == std::vector<std::int16_t>{255, 32767});
}

TEST_CASE("labels come to another grid by the nearest voxel or by the largest share") {
  const Bytes& blobs = StoredValues::of_predictions().bytes("blobs");
  for (const GridExtent& to : {sizes[0], sizes[1], GridExtent{12, 14, 16}}) {
    CAPTURE(text(to));
    const Bytes& nearest = StoredValues::of_predictions().bytes("nearest " + text(to));
    const Bytes& shares = StoredValues::of_predictions().bytes("shares " + text(to));
    Bytes out(nearest.size());
    resample_labels(blobs, {given_extent, to}, out);
    CHECK(out == nearest);
    resample_labels(blobs, {given_extent, to, LabelResampling::Rule::linear}, out);
    CHECK(out == shares);
    const std::vector<std::int16_t> wide(blobs.begin(), blobs.end());
    std::vector<std::int16_t> wide_out(out.size());
    resample_labels(wide, {given_extent, to, LabelResampling::Rule::linear}, wide_out);
    CHECK(std::ranges::equal(wide_out, shares));
  }
}

TEST_CASE("resampling refuses what cannot be right, and says its memory") {
  CHECK(ScoreResampler({3, given_extent, {6, 14, 8}}).bytes() ==
        (7 * 8 + 8) * 4 + 2 * (6 + 14 + 8) * 8);
  Bytes labels(4);
  const GridExtent line{1, 1, 4};
  CHECK_THROWS_AS(labels_of_scores(Floats(8), {2, line, line}, .5F, labels), ConfigError);
  CHECK_THROWS_AS(labels_of_scores(Floats(7), {2, line, line}, {}, labels), ConfigError);
  CHECK_THROWS_AS(labels_of_scores(Floats(8), {2, line, {1, 1, 5}}, {}, labels), ConfigError);
  CHECK_THROWS_AS(labels_of_scores(Floats(4 * 300), {300, line, line}, {}, labels), ConfigError);
  CHECK_THROWS_AS(ScoreResampler({0, line, line}), ConfigError);
  CHECK_THROWS_AS(resample_labels(labels, {line, {1, 1, 0}}, {}), ConfigError);
}
