#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/loaders/image/mask_survey.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using test::Bytes;
using test::Pixels;

namespace {

/// Pairs in one folder, a mask beside each picture of 4 x 2.
struct PairFolder {
  void add(const std::string& name, const Bytes& mask) const {
    test::write_bytes(root / (name + ".png"),
                      test::encode_png({.width = 4, .height = 2}, Pixels(24), 12));
    test::write_bytes(root / (name + "_mask.png"), mask);
  }
  void grey(const std::string& name, const Pixels& values) const {
    add(name,
        test::encode_png({.width = 4, .height = 2, .colour = PNG_COLOR_TYPE_GRAY}, values, 4));
  }
  void rgb(const std::string& name, const Pixels& values) const {
    add(name, test::encode_png({.width = 4, .height = 2}, values, 12));
  }
  MaskSurvey survey(const MaskSurveyOptions& options = {}) const {
    return survey_masks(
        ImagePairs({.images = root.path(), .masks = root.path(), .mask_suffix = "_mask"}), options);
  }
  test::TemporaryFolder root;
};

Pixels in_rgb(const Pixels& values) {
  Pixels pixels;
  for (const std::uint8_t value : values)
    pixels.insert(pixels.end(), 3, value);
  return pixels;
}

using Values = std::map<std::uint16_t, MaskCount>;

}  // namespace

TEST_CASE("the values of masks are counted in files and pixels") {
  const PairFolder data;
  data.grey("a", {0, 0, 0, 0, 255, 255, 255, 0});
  data.grey("b", Pixels(8, 0));
  data.rgb("c", in_rgb({0, 0, 0, 0, 0, 0, 255, 7}));
  const MaskSurvey survey = data.survey();
  CHECK(survey.files == 3);
  CHECK(survey.values == Values{{0, {3, 19, 10}}, {7, {1, 1, 0, 1}}, {255, {2, 4}}});
  CHECK(survey.colours.empty());
  CHECK(survey.complete);
  const MaskSurvey part = data.survey({.samples = 1});
  CHECK(part.values == Values{{0, {1, 5}}, {255, {1, 3}}});
}

TEST_CASE("colours are counted as soon as one file has them") {
  const PairFolder data;
  Pixels red = in_rgb(Pixels(8, 0));
  red[0] = red[3] = 200;
  data.rgb("a", red);
  data.rgb("b", in_rgb(Pixels(8, 0)));
  const MaskSurvey survey = data.survey();
  CHECK(survey.values.empty());
  CHECK(survey.colours == std::map<std::array<std::uint8_t, 3>, MaskCount>{{{0, 0, 0}, {2, 14, 10}},
                                                                           {{200, 0, 0}, {1, 2}}});
}

TEST_CASE("pixels inside of areas, and those between a lower and a higher one, are counted") {
  const PairFolder data;
  data.grey("a", {0, 90, 255, 255, 0, 90, 255, 255});
  data.grey("b", {0, 90, 0, 0, 0, 90, 0, 0});
  const MaskSurvey survey = data.survey({.threads = 2});
  CHECK(survey.values == Values{{0, {2, 8, 2, 0}}, {90, {2, 4, 0, 2}}, {255, {1, 4, 2, 0}}});
}

TEST_CASE("masks that cannot be read are listed, and too many values end the count") {
  const PairFolder data;
  data.grey("a", {0, 1, 2, 3, 4, 5, 6, 7});
  data.add("b", test::encode_jpeg({.width = 8, .height = 8}, Pixels(192)));
  const MaskSurvey survey = data.survey({.most_values = 3});
  CHECK(survey.files == 1);
  CHECK_FALSE(survey.complete);
  CHECK(survey.values.size() == 3);
  REQUIRE(survey.bad.size() == 1);
  CHECK(survey.bad[0].index == 1);
  CHECK(test::contains(survey.bad[0].reason, "its compression changes labels"));

  const test::TemporaryFolder root;
  test::write_bytes(root / "cat/1.png",
                    test::encode_png({.width = 4, .height = 2}, Pixels(24), 12));
  CHECK_THROWS_AS(survey_masks(ImageFolder(root.path())), ConfigError);
}
