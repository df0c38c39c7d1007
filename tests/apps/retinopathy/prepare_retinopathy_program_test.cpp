#include <headrace/loaders/idx/idx_file.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

namespace fs = std::filesystem;

const fs::path data_set = "/usr/share/datasets/fashion-mnist";
const std::array<std::string, 5> classes{"0_tshirt", "1_pullover", "2_dress", "3_coat", "4_shirt"};

}  // namespace

TEST_CASE("prepare retinopathy takes the pictures of Fashion-MNIST, in the folder of their class") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  const Finished prepared = run_headrace(
      folder.path(), {"prepare", "retinopathy", "--output", "out/data", "--limit", "120",
                      "--validation", "7", "--test", "9", "--side", "28", "--quality", "100"});
  REQUIRE_MESSAGE(prepared.status == 0, prepared.err);
  const std::array<int, 5> labels{0, 2, 3, 4, 6};
  const auto compare = [&](const char* part, const char* idx) {
    const headrace::ImageFolder made(folder.path() / "out/data" / part);
    REQUIRE(made.classes() == std::vector<std::string>(classes.begin(), classes.end()));
    const std::string stem = (data_set / idx).string();
    const headrace::Tensor images = headrace::read_idx(stem + "-images-idx3-ubyte.gz");
    const headrace::Tensor numbers = headrace::read_idx(stem + "-labels-idx1-ubyte.gz");
    const headrace::DecodeImage decode{.crop = headrace::ResizeTo{28, 28}};
    for (std::int64_t i = 0; i < made.size(); i += 5) {
      headrace::Sample sample;
      made.read(i, sample);
      const auto row =
          static_cast<std::int64_t>(std::stoi(fs::path(made.origin(i)).stem().string()));
      CHECK(numbers.values<std::uint8_t>()[static_cast<std::size_t>(row)] ==
            labels[static_cast<std::size_t>(sample["label"].item<std::int64_t>())]);
      headrace::Random none;
      decode(sample, none);
      const auto got = sample["image"].values<std::uint8_t>();
      const auto original = images.row(row).values<std::uint8_t>();
      int most = 0;
      for (std::size_t k = 0; k < got.size(); ++k)
        most = std::max(most, std::abs(got[k] - original[k / 3]));
      CHECK(most <= 3);
    }
  };
  compare("train", "train");
  compare("val", "train");
  compare("test", "t10k");
}
