#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/memory/device_table.h>
#include <headrace/tests/apps/advised_keys.h>
#include <headrace/tests/apps/picture_folder.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace app = headrace::app;

namespace {

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

TEST_CASE("every key that advice names is a key of the leak job") {
  app::LeakConfig config;
  app::Fields fields;
  config.describe_keys(fields);
  headrace::test::check_advised_keys(fields);
}

// What the job delivered before it had a list of operations.
TEST_CASE("the leak job's batches are those of the section spec_augment, byte for byte") {
  app::LeakConfig config;
  config.training.batch = 48;
  const auto hash = [&](const std::shared_ptr<const headrace::Source>& segments) {
    return headrace::test::hash_of(
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
