#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/memory_files.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <sys/wait.h>

using namespace headrace;

namespace {

namespace fs = std::filesystem;
using File = std::vector<std::byte>;

File file_of(std::string_view bytes) {
  File file;
  for (const char c : bytes)
    file.push_back(static_cast<std::byte>(c));
  file.resize(64);
  return file;
}

/// Headers of 2 x 2 pixels; the module sees no more of them than that it is wanted.
File bmp() {
  using namespace std::string_view_literals;
  return file_of("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0"sv);
}
File webp() {
  using namespace std::string_view_literals;
  return file_of("RIFF\x38\0\0\0WEBPVP8L\x2c\0\0\0\x2f\x01\x40\0\0"sv);
}

std::string refusal(const File& file) {
  return test::message_of<Error>([&] {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const ImageHeader header = decoder.open(file);
    std::vector<std::uint8_t> rgb(std::size_t{3} * 2 * 2);
    decoder.decode({0, 0, double(header.width), double(header.height), {.width = 2, .height = 2}},
                   {.rgb = rgb.data(), .height = 2, .width = 2});
  });
}

/// What ends an epoch of such files where bad samples are replaced.
std::string end_of_epoch(std::vector<File> files) {
  return test::message_of<ConfigError>([&] {
    Loader loader = Pipeline::from(std::make_shared<const test::MemoryFiles>(std::move(files)))
                        .order(Sequential{})
                        .then(DecodeImage{.crop = ResizeTo{8, 8}})
                        .batch({.size = 2})
                        .on_bad_sample({.rule = BadSamples::Rule::replace})
                        .build({.runtime = Runtime({.threads = 1})});
    for (Batch& batch : loader.epoch(0))
      CHECK(batch.size() == 0);
  });
}

}  // namespace

TEST_CASE("in a folder without the codec module" * doctest::skip()) {
  for (const auto& [format, file] : {std::pair{"BMP", bmp()}, {"WebP", webp()}}) {
    const std::string message = refusal(file);
    CAPTURE(message);
    CHECK(message.starts_with(format));
    CHECK(message.find("libopencv-imgcodecs406") != std::string::npos);
    CHECK(message.find("headrace_opencv_codecs.so") != std::string::npos);
    CHECK(message.find("No such file") != std::string::npos);
    CHECK(message.find("convert the files to JPEG or PNG") != std::string::npos);
  }
  const std::string end = end_of_epoch({bmp(), webp(), bmp(), webp()});
  CAPTURE(end);
  CHECK(end.find("sample 0") != std::string::npos);
  CHECK(end.find("libopencv-imgcodecs406") != std::string::npos);
}

TEST_CASE("without the codec module WebP and BMP say their format and the module's name") {
  Dl_info self{};
  REQUIRE(dladdr(reinterpret_cast<const void*>(&ImageDecoder::this_thread), &self) != 0);
  const fs::path program = fs::read_symlink("/proc/self/exe");
  if (fs::canonical(self.dli_fname) != program)
    return test::skip("the module is looked for beside a shared library");
  const test::TemporaryFolder folder;
  fs::copy_file(program, folder / "program");
  const std::string command = "'" + (folder / "program").string() +
                              "' --no-skip --test-case='in a folder without the codec module'";
  CHECK(WEXITSTATUS(std::system((command + " > /dev/null").c_str())) == 0);
  // In its own place the same program finds the module, so the case above must fail there.
  CHECK(refusal(bmp()).find("needs the module") == std::string::npos);
}
