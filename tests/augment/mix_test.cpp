#include <headrace/augment/detail/beta.h>
#include <headrace/augment/detail/blend.h>
#include <headrace/augment/mix.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/pixels.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

#include "torchvision_values.inc"

constexpr int picture_height = 6;
constexpr int picture_width = 7;

/// Record i is noise of its own, of class i % 5.
class LabelledPictures final : public Source {
 public:
  explicit LabelledPictures(std::int64_t count) : count_(count) {}
  std::string name() const override { return "pictures"; }
  std::int64_t size() const override { return count_; }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::uint8, Shape{picture_height, picture_width, 3}),
            FieldSpec::fixed("label", DType::int64, Shape{})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    const Pixels pixels =
        test::noise(picture_width, picture_height, 3, static_cast<unsigned>(index));
    auto out = sample.make("image", DType::uint8, Shape{picture_height, picture_width, 3})
                   .values<std::uint8_t>();
    std::copy(pixels.begin(), pixels.end(), out.begin());
    sample.set_scalar("label", index % 5);
  }

 private:
  std::int64_t count_;
};

/// What a row became, by its position in the epoch.
struct Row {
  Pixels pixels;
  std::vector<float> label;
  friend bool operator==(const Row&, const Row&) = default;
};
using MixedRows = std::map<std::int64_t, Row>;

struct Wish {
  std::int64_t records = 48;
  Tail tail = Tail::drop;
  Ranks ranks{};
  int threads = 2;
  std::uint64_t order_seed = 3;
};

void collect(const MixBatch& op, const Wish& wish, MixedRows& rows) {
  Loader loader = Pipeline::from(LabelledPictures{wish.records})
                      .order(Shuffled{.seed = wish.order_seed})
                      .ranks(wish.ranks)
                      .batch({.size = 12, .tail = wish.tail})
                      .then(op)
                      .build({.runtime = Runtime({.threads = wish.threads})});
  for (Batch& batch : loader.epoch(1)) {
    const auto pixels = batch["image"].values<std::uint8_t>();
    const auto labels = batch["label"].values<float>();
    const std::size_t one = pixels.size() / static_cast<std::size_t>(batch.size());
    const std::size_t classes = labels.size() / static_cast<std::size_t>(batch.size());
    const auto origins = batch.origins();
    for (std::size_t i = 0; i < origins.size(); ++i) {
      if (origins[i].position < 0) continue;
      rows[origins[i].position] = {
          Pixels(pixels.begin() + std::ptrdiff_t(one * i),
                 pixels.begin() + std::ptrdiff_t(one * (i + 1))),
          std::vector<float>(labels.begin() + std::ptrdiff_t(classes * i),
                             labels.begin() + std::ptrdiff_t(classes * (i + 1)))};
    }
  }
}

MixedRows stream_of(const MixBatch& op, const Wish& wish) {
  MixedRows rows;
  collect(op, wish, rows);
  return rows;
}

const MixBatch soft{.group = 3, .classes = 5};

}  // namespace

TEST_CASE("pictures are blended as torchvision's MixUp blends a group") {
  const std::size_t one = 5 * 4 * 3;
  for (std::size_t row = 0; row < 3; ++row) {
    const Pixels own = test::noise(5, 4, 3, static_cast<unsigned>(row + 1));
    const Pixels partner = test::noise(5, 4, 3, static_cast<unsigned>(row == 0 ? 3 : row));
    Pixels got(one);
    detail::blend(own.data(), partner.data(), got.data(), one, 0.3F);
    const Pixels wanted(mixed.begin() + std::ptrdiff_t(one * row),
                        mixed.begin() + std::ptrdiff_t(one * (row + 1)));
    CHECK(test::most_apart(got, wanted) <= 1);
  }
}

TEST_CASE("a batch is mixed inside its groups, each row with the one before it") {
  const MixBatch op = soft;
  const MixedRows plain = stream_of({.p = 0.0, .group = 3, .classes = 5}, {});
  const MixedRows rows = stream_of(op, {});
  REQUIRE(rows.size() == 48);
  int cuts = 0;
  for (const auto& [position, row] : rows) {
    const std::int64_t first = position / 3 * 3;
    const Row& own = plain.at(position);
    const Row& partner = plain.at(position == first ? first + 2 : position - 1);
    const MixBatch::Draw draw = op.draw(3, 1, first, picture_height, picture_width);
    cuts += draw.cut ? 1 : 0;
    for (std::size_t c = 0; c < 5; ++c) {
      const float wanted = draw.lambda * own.label[c] + (1 - draw.lambda) * partner.label[c];
      REQUIRE(std::abs(row.label[c] - wanted) < 1e-6F);
    }
    for (int y = 0; y < picture_height; ++y) {
      for (int x = 0; x < picture_width; ++x) {
        for (int c = 0; c < 3; ++c) {
          const auto i = static_cast<std::size_t>((y * picture_width + x) * 3 + c);
          const bool pasted = y >= draw.top && y < draw.bottom && x >= draw.left && x < draw.right;
          const float wanted =
              draw.cut ? float(pasted ? partner.pixels[i] : own.pixels[i])
                       : draw.lambda * own.pixels[i] + (1 - draw.lambda) * partner.pixels[i];
          REQUIRE(std::abs(row.pixels[i] - wanted) <= (draw.cut ? 0.0F : 1.0F));
        }
      }
    }
  }
  CHECK(cuts > 0);
  CHECK(cuts < 48);
}

TEST_CASE("the union over ranks is the same stream, on any number of threads") {
  for (const Tail tail : {Tail::drop, Tail::pad}) {
    const Wish whole{.records = 53, .tail = tail};
    const MixedRows expected = stream_of(soft, whole);
    CHECK(expected.size() == (tail == Tail::drop ? 48 : 53));
    for (const int threads : {1, 8}) {
      Wish wish = whole;
      wish.threads = threads;
      CHECK(stream_of(soft, wish) == expected);
    }
    for (const int world : {2, 4}) {
      MixedRows rows;
      for (int rank = 0; rank < world; ++rank) {
        Wish wish = whole;
        wish.ranks = {.rank = rank, .world = world};
        collect(soft, wish, rows);
      }
      CHECK(rows == expected);
    }
    Wish other = whole;
    other.order_seed = 4;
    CHECK(stream_of(soft, other) != expected);
    MixBatch reseeded = soft;
    reseeded.seed = 1;
    CHECK(stream_of(reseeded, whole) != expected);
  }
}

TEST_CASE("a share that begins inside a group is refused, with the way out") {
  MixedRows rows;
  CHECK_THROWS_AS(collect({.group = 5, .classes = 5}, {}, rows), Error);
  CHECK_THROWS_AS(collect({.group = 4, .classes = 5}, {.ranks = {.rank = 1, .world = 2}}, rows),
                  Error);
}

TEST_CASE("a group that the end of an epoch cuts stays as it was") {
  const Wish wish{.records = 50, .tail = Tail::shorter};
  const MixedRows plain = stream_of({.p = 0.0, .group = 3, .classes = 5}, wish);
  const MixedRows rows = stream_of(soft, wish);
  CHECK(rows.at(48) == plain.at(48));
  CHECK(rows.at(49) == plain.at(49));
  CHECK(rows.at(0) != plain.at(0));
}

TEST_CASE("without classes lambda and the partner's label stand beside the labels") {
  const MixBatch op{.cutmix_alpha = 0, .group = 2};
  Loader loader = Pipeline::from(LabelledPictures{8}).batch({.size = 4}).then(op).build();
  for (Batch& batch : loader.epoch(0)) {
    const auto labels = batch["label"].values<std::int64_t>();
    const auto partners = batch["label_partner"].values<std::int64_t>();
    const auto lambdas = batch["lambda"].values<float>();
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(partners[i] == labels[i % 2 == 0 ? i + 1 : i - 1]);
      CHECK(lambdas[i] == lambdas[i / 2 * 2]);
      CHECK(lambdas[i] != 1.0F);
    }
  }
}

TEST_CASE("labels are smoothed as timm does it") {
  const MixBatch op{.p = 0, .group = 2, .classes = 5, .smoothing = 0.1};
  const MixedRows rows = stream_of(op, {.records = 12});
  for (const auto& [position, row] : rows) {
    std::vector<float> sorted = row.label;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted[0] == doctest::Approx(0.02));
    CHECK(sorted[3] == doctest::Approx(0.02));
    CHECK(sorted[4] == doctest::Approx(0.92));
  }
}

TEST_CASE("draws are Beta-distributed") {
  for (const double alpha : {0.2, 0.4, 1.0, 3.0}) {
    const int count = 20000;
    double sum = 0;
    double squares = 0;
    int low = 0;
    for (int i = 0; i < count; ++i) {
      Random random(RandomKey{.seed = 21, .position = i});
      const double x = detail::draw_beta(alpha, random);
      REQUIRE(x >= 0);
      REQUIRE(x <= 1);
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
      low += x < 0.25 ? 1 : 0;
    }
    CHECK(sum / count == doctest::Approx(0.5).epsilon(0.02));
    CHECK(squares / count == doctest::Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.03));
    // scipy.stats.beta.cdf(0.25, alpha, alpha)
    const std::map<double, double> share = {
        {0.2, 0.40266}, {0.4, 0.34838}, {1.0, 0.25}, {3.0, 0.103516}};
    CHECK(double(low) / count == doctest::Approx(share.at(alpha)).epsilon(0.04));
  }
}

TEST_CASE("mixing refuses what cannot be right before anything runs") {
  const Schema in = test::picture_schema(8, 9, 3);
  CHECK(MixBatch{.classes = 5}.schema(in).at("label") ==
        FieldSpec::fixed("label", DType::float32, Shape{5}));
  CHECK(MixBatch{}.schema(in).at("lambda").dtype == DType::float32);
  CHECK_THROWS_AS((MixBatch{.mixup_alpha = 0, .cutmix_alpha = 0}.schema(in)), ConfigError);
  CHECK_THROWS_AS((MixBatch{.group = 1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((MixBatch{.smoothing = 1.5}.schema(in)), ConfigError);
  CHECK_THROWS_AS((MixBatch{.field = "label"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((MixBatch{.label = "image"}.schema(in)), ConfigError);
  MixedRows rows;
  CHECK_THROWS_AS(collect({.group = 2, .classes = 3}, {}, rows), Error);
}

TEST_CASE("Mixup mixes vectors and spectrograms of floats, and CutMix does not") {
  class Vectors final : public Source {
   public:
    std::string name() const override { return "vectors"; }
    std::int64_t size() const override { return 24; }
    Schema fields() const override {
      return {FieldSpec::fixed("array", DType::float32, Shape{5}),
              FieldSpec::fixed("label", DType::int64, Shape{})};
    }
    void read(std::int64_t index, Sample& sample) const override {
      for (float& value : sample.make("array", DType::float32, Shape{5}).values<float>())
        value = static_cast<float>(100 * index);
      sample.set_scalar("label", index);
    }
  };
  const MixBatch op{.cutmix_alpha = 0.0, .group = 4, .classes = 24, .field = "array"};
  Loader loader = Pipeline::from(Vectors{}).batch({.size = 8}).then(op).build();
  int mixed = 0;
  for (Batch& batch : loader.epoch(0)) {
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      const auto soft = batch["label"].row(row).values<float>();
      double expected = 0.0;
      for (std::size_t i = 0; i < soft.size(); ++i)
        expected += 100.0 * static_cast<double>(i) * double{soft[i]};
      for (const float value : batch["array"].row(row).values<float>())
        CHECK(value == doctest::Approx(expected).epsilon(1e-5));
      mixed += std::count_if(soft.begin(), soft.end(), [](float v) { return v > 0; }) == 2 ? 1 : 0;
    }
  }
  CHECK(mixed > 12);
  MixBatch cut = op;
  cut.cutmix_alpha = 1.0;
  CHECK_THROWS_AS(cut.schema(Vectors{}.fields()), ConfigError);
  const Schema whole{FieldSpec::fixed("array", DType::int16, Shape{5}),
                     FieldSpec::fixed("label", DType::int64, Shape{})};
  CHECK_THROWS_AS(op.schema(whole), ConfigError);
}
