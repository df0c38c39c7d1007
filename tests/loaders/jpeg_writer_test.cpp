#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/jpeg_writer.h>
#include <headrace/tests/loaders/image_files.h>

#include <doctest/doctest.h>

using namespace headrace;

TEST_CASE("a picture written as a JPEG is read back near what it was, and the same each time") {
  test::Pixels smooth;
  for (int y = 0; y < 37; ++y)
    for (int x = 0; x < 50; ++x)
      for (int c = 0; c < 3; ++c)
        smooth.push_back(static_cast<std::uint8_t>(2 * x + 3 * y + 10 * c));
  const test::Bytes file = encode_jpeg(smooth.data(), 50, 37, 95);
  CHECK(test::farthest(test::plain_decode(file), smooth) <= 4);
  CHECK(encode_jpeg(smooth.data(), 50, 37, 95) == file);
  CHECK(encode_jpeg(smooth.data(), 50, 37, 30).size() < file.size());
}

TEST_CASE("sides that a JPEG cannot have are refused") {
  const test::Pixels none;
  CHECK_THROWS_AS(encode_jpeg(none.data(), 0, 4, 95), ConfigError);
  CHECK_THROWS_AS(encode_jpeg(none.data(), 4, 70000, 95), ConfigError);
}
