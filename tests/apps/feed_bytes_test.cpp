#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/memory/device_table.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

// What configurations delivered before they had one list of operations.

namespace {

namespace app = headrace::app;
using headrace::test::TemporaryFolder;

std::uint64_t hash_of(headrace::Loader loader) {
  return headrace::hash_name(headrace::test::bytes_of(std::move(loader)));
}

/// Spectrograms of small whole decibels: exact in float16.
class Segments final : public headrace::Source {
 public:
  std::string name() const override { return "segments"; }
  std::int64_t size() const override { return 200; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("mel", headrace::DType::float16, {64, 5}),
            headrace::FieldSpec::fixed("label", headrace::DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    auto* cells =
        static_cast<std::uint16_t*>(sample.make("mel", headrace::DType::float16, {64, 5}).raw());
    for (std::int64_t i = 0; i < 320; ++i)
      cells[i] = static_cast<std::uint16_t>(0xc000 + 7 * index + i);
    sample.set_scalar<std::int64_t>("label", index % 2);
  }
};

app::LeakFile leak_file() {
  app::LeakFile file;
  file.longs = 1;
  file.shorts = 1;
  file.mels = 64;
  file.frames = 5;
  file.mean = -30.5;
  return file;
}

}  // namespace

TEST_CASE("the glaucoma job's batches are those of the keys flip and rotation, byte for byte") {
  const TemporaryFolder folder;
  app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.training.batch = 10;
  config.threads.loader = 2;
  headrace::test::write_glaucoma_data(config.data.file, 60, 15);
  CHECK(hash_of(app::make_glaucoma_loader_job(config).build()) == 17470652778901921271ULL);
}

TEST_CASE("the leak job's batches are those of the section spec_augment, byte for byte") {
  app::LeakConfig config;
  config.training.batch = 48;
  const auto hash = [&](const std::shared_ptr<const headrace::Source>& segments) {
    return hash_of(
        app::leak_training_pipeline(segments, leak_file(), config, headrace::Device::cpu())
            .build({.runtime = headrace::Runtime({.threads = 2})}));
  };
  const auto segments = std::make_shared<const Segments>();
  const auto table =
      std::make_shared<headrace::DeviceTable>(segments, headrace::DeviceTableOptions{});
  table->load();
  CHECK(hash(segments) == 17432358374698588067ULL);
  CHECK(hash(table) == 8179767901363104286ULL);
  config.augment = app::augment_list("[spec_augment]");
  CHECK(hash(segments) == 4563612353883130483ULL);
  CHECK(hash(table) == 3737858730614997806ULL);
}

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
  CHECK(hash_of(app::make_loader_job(config).build()) == 11711213672030297014ULL);
  config.image.resize = 40;
  CHECK(hash_of(app::make_loader_job(config).build()) == 7192730893230556206ULL);
}
