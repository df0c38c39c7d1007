#include <headrace/engine/base/error.h>
#include <headrace/engine/order/order.h>
#include <headrace/tests/engine/order_indices.h>
#include <headrace/tests/engine/statistics.h>

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::Balanced;
using headrace::ConfigError;
using headrace::IndexStream;
using headrace::Weighted;
using headrace::test::chi_square_excess;
using headrace::test::Indices;

Indices whole(const IndexStream& stream, std::int64_t epoch) {
  Indices out(static_cast<std::size_t>(stream.length()));
  stream.indices(epoch, 0, out);
  return out;
}

std::vector<std::int64_t> counts_of(const Indices& indices, std::size_t records) {
  std::vector<std::int64_t> counts(records);
  for (const std::int64_t i : indices)
    ++counts.at(static_cast<std::size_t>(i));
  return counts;
}

TEST_CASE("weighted draws follow the weights, and equal shares do not fit them") {
  std::vector<double> weights;
  for (int i = 0; i < 300; ++i)
    weights.push_back(1 + i % 17 + (i == 5 ? 400 : 0));
  const auto stream = Weighted{.weights = weights, .seed = 4, .epoch_size = 600'000}.bind(300);
  const auto counts = counts_of(whole(*stream, 0), 300);
  CHECK(chi_square_excess(counts, weights) < 5);
  CHECK(chi_square_excess(counts) > 5);
  CHECK_FALSE(stream->exactly_once());
  CHECK(stream->bytes() == 300 * 12);
}

TEST_CASE("records of weight zero are never drawn, and a single one with weight always") {
  std::vector<double> weights(1000, 0.0);
  for (std::size_t i = 0; i < weights.size(); i += 3)
    weights[i] = 1e-300 * static_cast<double>(i + 1);
  const auto counts =
      counts_of(whole(*Weighted{.weights = weights, .epoch_size = 200'000}.bind(1000), 0), 1000);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) CHECK(counts[i] == 0);
  }
  const auto only = Weighted{.weights = {0, 0, 2.5, 0}, .epoch_size = 1000}.bind(4);
  CHECK(counts_of(whole(*only, 0), 4)[2] == 1000);
}

TEST_CASE("neighbouring draws are independent") {
  const auto stream =
      Weighted{.weights = std::vector<double>(20, 1.0), .seed = 8, .epoch_size = 400'000}.bind(20);
  const Indices draws = whole(*stream, 0);
  std::vector<std::int64_t> pairs(400);
  for (std::size_t i = 0; i + 1 < draws.size(); i += 2) {
    ++pairs[static_cast<std::size_t>(draws[i] * 20 + draws[i + 1])];
  }
  CHECK(chi_square_excess(pairs) < 5);
}

TEST_CASE("balanced draws take classes in equal shares and records of a class in equal shares") {
  std::vector<std::int64_t> labels;
  std::vector<double> shares;
  for (int i = 0; i < 500; ++i) {
    const bool rare = i % 50 == 0;
    labels.push_back(rare ? -7 : 1000);
    shares.push_back(rare ? 0.5 / 10 : 0.5 / 490);
  }
  const auto stream = Balanced{.labels = labels, .seed = 6, .epoch_size = 500'000}.bind(500);
  const auto counts = counts_of(whole(*stream, 2), 500);
  CHECK(chi_square_excess(counts, shares) < 5);
  std::int64_t rare = 0;
  for (std::size_t i = 0; i < counts.size(); i += 50)
    rare += counts[i];
  CHECK(std::abs(static_cast<double>(rare) - 250'000) < 5 * std::sqrt(125'000.0));
  CHECK(stream->describe() ==
        "balanced draws from 2 classes (seed 6) of 500 records, 500000 samples an epoch");
}

TEST_CASE("draws are a function of seed, epoch and place alone") {
  const Weighted order{.weights = std::vector<double>(1000, 1.0), .seed = 3};
  const auto stream = order.bind(1000);
  CHECK(stream->length() == 1000);
  const Indices all = whole(*stream, 1);
  CHECK(all == whole(*order.bind(1000), 1));
  CHECK(all != whole(*stream, 2));
  CHECK(all != whole(*Weighted{.weights = order.weights, .seed = 4}.bind(1000), 1));
  Indices piece(100);
  stream->indices(1, 450, piece);
  CHECK(piece == Indices(all.begin() + 450, all.begin() + 550));
}

TEST_CASE("weights and labels that do not fit the records are refused with what came") {
  CHECK_THROWS_WITH_AS((Weighted{.weights = {1, 2}}.bind(3)),
                       "[order] Weighted needs one of weights for each record: got 2 for 3 records",
                       ConfigError);
  CHECK_THROWS_WITH_AS((Weighted{.weights = {1, -2}}.bind(2)),
                       "[order] Weighted: a weight is finite and at least 0, weight 1 is -2.000000",
                       ConfigError);
  CHECK_THROWS_AS((Weighted{.weights = {1, std::nan("")}}.bind(2)), ConfigError);
  CHECK_THROWS_AS((Weighted{.weights = {1, std::numeric_limits<double>::infinity()}}.bind(2)),
                  ConfigError);
  CHECK_THROWS_WITH_AS(
      (Weighted{.weights = {0, 0}}.bind(2)),
      "[order] Weighted: the sum of the weights is positive and finite, got 0.000000", ConfigError);
  CHECK_THROWS_AS(Weighted{}.bind(0), ConfigError);
  CHECK_THROWS_WITH_AS(Balanced{.labels = {1}}.bind(2),
                       "[order] Balanced needs one of labels for each record: got 1 for 2 records",
                       ConfigError);
  CHECK_THROWS_AS(Balanced{}.bind(0), ConfigError);
}

}  // namespace
