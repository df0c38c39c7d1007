#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/tests/loaders/damaged_photographs.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/support/temporary_folder.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;

namespace {

/// Four photographs; the data of the third holds bytes too many behind its last row.
std::shared_ptr<const Source> photographs(const test::TemporaryFolder& folder) {
  for (int i = 0; i < 4; ++i) {
    Bytes file = test::encode_jpeg({.width = 96, .height = 96},
                                   test::photograph(96, 96, 3, static_cast<std::uint64_t>(i)));
    if (i == 2) file.insert(file.end() - 2, 40, std::byte{1});
    test::write_bytes(folder / "a" / (std::to_string(i) + ".jpg"), file);
  }
  return std::make_shared<const ImageFolder>(folder.path());
}

/// Bad samples of an epoch of crops of the upper left.
std::int64_t bad_samples(const std::shared_ptr<const Source>& source, bool check, int epoch) {
  Loader loader = Pipeline::from(source)
                      .order(Sequential{})
                      .then(DecodeImage{
                          .crop =
                              RandomResizedCrop{
                                  .height = 16, .width = 16, .scale = {0.05, 0.1}, .ratio = {1, 1}},
                          .check_first_epoch = check})
                      .batch({.size = 4})
                      .on_bad_sample({.rule = BadSamples::Rule::replace})
                      .seed(5)
                      .build({.runtime = Runtime({.threads = 2})});
  for (Batch& batch : loader.epoch(epoch))
    CHECK(batch.size() == 4);
  return loader.stats().bad_samples;
}

}  // namespace

TEST_CASE("damage behind a crop is found where the first epoch reads files to their ends") {
  const test::TemporaryFolder folder;
  const auto source = photographs(folder);
  CHECK(bad_samples(source, false, 0) == 0);  // no crop of this seed reaches the last row
  CHECK(bad_samples(source, true, 0) >= 1);   // a replacement may be the bad one again
  CHECK(bad_samples(source, true, 1) == 0);
}
