#include <headrace/engine/base/error.h>
#include <headrace/engine/base/literals.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/loaders/image_files_tiff.h>
#include <headrace/tests/loaders/memory_files.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;

namespace {

constexpr int picture_side = 1024;

/// What is said of a crop of 64 x 64 in the middle of a file.
std::string said(const Bytes& file, std::size_t most_bytes) {
  try {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    decoder.open(file, most_bytes);
    test::Pixels rgb(std::size_t{3} * 64 * 64);
    decoder.decode({512, 512, 64, 64, {512, 512, 64, 64}},
                   {.rgb = rgb.data(), .height = 64, .width = 64});
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

Bytes jpeg(bool progressive) {
  return test::encode_jpeg({.width = picture_side,
                            .height = picture_side,
                            .h_samp = 1,
                            .v_samp = 1,
                            .progressive = progressive},
                           test::picture(picture_side, picture_side, 3));
}

Bytes png(bool interlaced) {
  return test::encode_png({.width = picture_side, .height = picture_side, .interlaced = interlaced},
                          test::picture(picture_side, picture_side, 3),
                          std::size_t{3} * picture_side);
}

}  // namespace

TEST_CASE("what a file needs is counted from its header, and refused by name beyond the limit") {
  // Coefficients of 3 x 1024 x 1024; a picture of 4 bytes a pixel.
  for (const auto& [whole, part, needed] :
       {std::tuple{jpeg(true), jpeg(false), std::size_t{6_MiB}}, {png(true), png(false), 4_MiB}}) {
    const std::string message = said(whole, needed - 1);
    CAPTURE(message);
    CHECK(test::contains(message, "must take at most"));
    CHECK(test::contains(message, "sample_limit"));
    CHECK(test::contains(message, "1024 x 1024 pixels"));
    CHECK(said(whole, needed + 1_MiB).empty());
    // Only the crop's rows are held of what comes in order.
    CHECK(said(part, 1_MiB).empty());
  }
  const Bytes tiff = test::encode_tiff({.width = picture_side,
                                        .height = picture_side,
                                        .compression = COMPRESSION_LZW,
                                        .rows_per_strip = picture_side},
                                       test::picture(picture_side, picture_side, 3));
  CAPTURE(said(tiff, 5_MiB));
  CHECK(test::contains(said(tiff, 5_MiB), "TIFF: decoding it must take at most 5 MiB"));
  CHECK(said(tiff, 9_MiB).empty());
}

TEST_CASE("of a whole JPEG of four components all is counted that is held beside the picture") {
  const Bytes file =
      test::encode_jpeg({.width = picture_side, .height = picture_side, .components = 4},
                        test::picture(picture_side, picture_side, 4));
  const auto refusal = [&](std::size_t most_bytes) {
    return test::message_of<DataError>([&] {
      ImageDecoder& decoder = ImageDecoder::this_thread();
      decoder.open(file, most_bytes);
      test::Pixels rgb(std::size_t{3} * picture_side * picture_side);
      decoder.decode({0, 0, picture_side, picture_side, {0, 0, picture_side, picture_side}},
                     {.rgb = rgb.data(), .height = picture_side, .width = picture_side});
    });
  };
  CHECK(test::contains(refusal(2_MiB), "sample_limit"));
  CHECK(refusal(6_MiB).empty());
}

TEST_CASE("labels by colours count beside the pixels that they are found in") {
  const Bytes file = png(true);
  const std::vector<MaskColour> colours{{.red = 1, .green = 2, .blue = 3, .label = 1}};
  std::vector<std::uint8_t> labels(std::size_t{64} * 64);
  const auto refusal = [&](std::size_t most_bytes) {
    return test::message_of<DataError>([&] {
      ImageDecoder& decoder = ImageDecoder::this_thread();
      decoder.open(file, most_bytes);
      decoder.decode_labels({512, 512, 64, 64, {512, 512, 64, 64}}, {.labels = labels.data(),
                                                                     .dtype = DType::uint8,
                                                                     .height = 64,
                                                                     .width = 64,
                                                                     .colours = colours});
    });
  };
  CHECK(test::contains(refusal(5_MiB), "sample_limit"));
  CHECK(test::contains(refusal(7_MiB), "mask_colours"));  // of its own colours
}

TEST_CASE("a file beyond sample_limit is a bad sample, and the forecast holds the limit") {
  const auto files =
      std::make_shared<const test::MemoryFiles>(std::vector<Bytes>{jpeg(false), jpeg(true)});
  const auto build = [&](std::size_t limit, BadSamples::Rule rule) {
    return Pipeline::from(files)
        .order(Sequential{})
        .then(DecodeImage{.crop = ResizedCenterCrop{64, 64, 64}, .sample_limit = limit})
        .batch({.size = 2})
        .on_bad_sample({.rule = rule})
        .build({.runtime = Runtime({.threads = 2})});
  };
  const std::string message = test::message_of<DataError>([&] {
    Loader loader = build(5_MiB, BadSamples::Rule::fail);
    for (Batch& batch : loader.epoch(0))
      CHECK(batch.size() == 0);
  });
  CAPTURE(message);
  CHECK(test::contains(message, "sample 1"));
  CHECK(test::contains(message, "sample_limit"));
  Loader loader = build(5_MiB, BadSamples::Rule::replace);
  int batches = 0;
  for (Batch& batch : loader.epoch(0))
    batches += static_cast<int>(batch.size() / 2);
  CHECK(batches == 1);
  CHECK(loader.stats().bad_samples >= 1);  // the replacement may be the same one
  const std::size_t more =
      build(64_MiB, BadSamples::Rule::fail).forecast().total() - loader.forecast().total();
  CHECK(more == 2 * 59_MiB);
}

TEST_CASE("without a limit of its own a decoder gets an eighth of the memory over the threads") {
  CHECK(default_sample_limit(16_GiB, 16) == 128_MiB);
  CHECK(default_sample_limit(64_GiB, 2) == 512_MiB);
  CHECK(default_sample_limit() > 0);
}
