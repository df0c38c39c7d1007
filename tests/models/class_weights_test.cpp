#include <headrace/engine/base/error.h>
#include <headrace/models/losses/class_weights.h>

#include "../support/torch_doctest.h"

#include <vector>

using namespace headrace::models;
using doctest::Approx;

namespace {

const std::vector<std::int64_t> class_counts{25810, 2443, 5292, 873, 708};

void check(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == Approx(expected[i]).epsilon(1e-4));
}

}  // namespace

TEST_CASE("class weights of known counts have the values computed by hand") {
  check(inverse_frequency_weights(class_counts), {.06063, .64059, .29572, 1.79264, 2.21041});
  check(effective_number_weights(class_counts, .999), {.73669, .80671, .74040, 1.26473, 1.45147});
  check(effective_number_weights(class_counts, .9999), {.15580, .66439, .35044, 1.72257, 2.10680});
  check(effective_number_weights(class_counts, 0.0), {1, 1, 1, 1, 1});
}

TEST_CASE("positive weights are negatives to positives, and 1 where one of them is missing") {
  check(positive_weights(std::vector<std::int64_t>{20, 75, 0, 100}, 100), {4, 1. / 3, 1, 1});
}

TEST_CASE("a class without samples weighs as one with a single sample, and none is refused") {
  check(inverse_frequency_weights(std::vector<std::int64_t>{0, 1, 2}), {1.2, 1.2, .6});
  CHECK_THROWS_AS(inverse_frequency_weights(std::vector<std::int64_t>{0, 0}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(effective_number_weights(class_counts, 1.0), headrace::ConfigError);
}
