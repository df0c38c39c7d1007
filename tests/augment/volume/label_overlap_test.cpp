#include <headrace/augment/volume/label_overlap.h>
#include <headrace/engine/base/error.h>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

using Labels = std::vector<std::uint8_t>;

const Labels truth{0, 0, 1, 1, 1, 2, 2, 255, 255, 0};
const Labels predicted{0, 1, 1, 1, 0, 2, 1, 1, 2, 0};

}  // namespace

TEST_CASE("hits, false alarms and misses are counted for each class, the ignored left out") {
  const std::vector<ClassOverlap> overlaps = label_overlaps(predicted, truth, 4, 255);
  REQUIRE(overlaps.size() == 4);
  CHECK(overlaps[1].hits == 2);
  CHECK(overlaps[1].false_alarms == 2);
  CHECK(overlaps[1].misses == 1);
  CHECK(overlaps[1].dice() == doctest::Approx(4.0 / 7.0));
  CHECK(overlaps[1].iou() == doctest::Approx(2.0 / 5.0));
  CHECK(overlaps[2].dice() == doctest::Approx(2.0 / 3.0));
}

TEST_CASE(
    "a class that is neither there nor predicted has no Dice and does not count in the mean") {
  const std::vector<ClassOverlap> overlaps = label_overlaps(predicted, truth, 4, 255);
  CHECK(std::isnan(overlaps[3].dice()));
  CHECK(mean_dice(overlaps) == doctest::Approx((4.0 / 7.0 + 2.0 / 3.0) / 2));
  CHECK(mean_dice(overlaps, 2) == doctest::Approx(2.0 / 3.0));
  CHECK(std::isnan(mean_dice(overlaps, 3)));
  const std::vector<ClassOverlap> missed = label_overlaps(Labels{0, 0}, Labels{0, 1}, 2);
  CHECK(missed[1].dice() == 0.0);  // there and not predicted counts
}

TEST_CASE("labels of 16 bits may ignore a negative value") {
  const std::vector<std::int16_t> said{1, 1, 0}, is{1, -1, 0};
  const std::vector<ClassOverlap> overlaps = label_overlaps(said, is, 2, -1);
  CHECK(overlaps[1].dice() == 1.0);
  CHECK(overlaps[0].hits == 1);
}

TEST_CASE("Dice refuses labels that are no class and cases of two sizes") {
  CHECK_THROWS_WITH_AS(label_overlaps(predicted, truth, 4), doctest::Contains("0 to 3, got 255"),
                       DataError);
  CHECK_THROWS_WITH_AS(label_overlaps(Labels{3}, Labels{0}, 3),
                       doctest::Contains("that are predicted must be 0 to 2, got 3"), DataError);
  CHECK_THROWS_AS(label_overlaps(Labels{3, 1}, Labels{0}, 4), ConfigError);
  CHECK_THROWS_AS(label_overlaps(Labels{}, Labels{}, 0), ConfigError);
}
