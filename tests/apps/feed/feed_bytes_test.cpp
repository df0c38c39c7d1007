#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <doctest/doctest.h>

// What configurations delivered before they had one list of operations.

namespace app = headrace::app;
using headrace::test::TemporaryFolder;

TEST_CASE("pictures of a plain loader are those of the keys side, resize and flip") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 23);
  app::LoaderConfig config;
  config.data.source = app::SourceKind::images;
  config.data.folder = folder.path() / "images";
  config.data.listings.clear();
  config.image = {.side = 24};
  config.augment = app::augment_list("[random_resized_crop, flip]");
  config.batch = 5;
  config.threads.loader = 2;
  CHECK(headrace::test::hash_of(app::make_loader_job(config).build()) == 11711213672030297014ULL);
  config.image.resize = 40;
  CHECK(headrace::test::hash_of(app::make_loader_job(config).build()) == 7192730893230556206ULL);
}
