#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/refusal.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::refusal;
using headrace::test::TemporaryFolder;

constexpr int pictures = 23;
constexpr int kept_side = 40;

void put(const fs::path& file, const headrace::test::Bytes& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

/// Pictures of different sides in two classes, and masks of the same names.
void write_pictures(const fs::path& folder) {
  for (int i = 0; i < pictures; ++i) {
    const int width = 60 + i;
    const int height = 90 - i;
    const auto seed = static_cast<unsigned>(i);
    const fs::path name = fs::path(i % 2 == 0 ? "a" : "b") / std::to_string(i);
    put(folder / "images" / (name.string() + ".jpg"),
        headrace::test::encode_jpeg({.width = width, .height = height},
                                    headrace::test::picture(width, height, 3, seed)));
    put(folder / "masks" / (name.string() + ".png"),
        headrace::test::encode_png(
            {.width = width, .height = height, .colour = PNG_COLOR_TYPE_GRAY},
            headrace::test::picture(width, height, 1, seed), static_cast<std::size_t>(width)));
  }
}

app::LoaderConfig cache_config(const fs::path& folder, app::SourceKind kind, int threads) {
  app::LoaderConfig config;
  config.data.source = kind;
  config.data.folder = folder / "images";
  config.data.masks = folder / "masks";
  config.data.listings.clear();
  config.image = {.side = 24, .resize = kept_side};
  config.augment = app::augment_list("[random_resized_crop, flip, {rotate: 5}]");
  config.batch = 5;
  config.drop_last = false;
  config.threads.loader = threads;
  return config;
}

/// Every field of every batch of two epochs; `between` runs where nothing is read ahead.
std::string two_epochs(
    app::LoaderJob job, const std::function<void()>& between = [] {}) {
  job.options.join_epochs = false;
  headrace::Loader loader = job.build();
  std::string bytes;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (headrace::Batch& batch : loader.epoch(epoch)) {
      for (const std::string& name : batch.names()) {
        const headrace::Tensor field = batch[name];
        bytes += name;
        bytes.append(static_cast<const char*>(field.raw()), field.bytes());
      }
    }
    if (epoch == 0) between();
  }
  return bytes;
}

struct Cap {
  app::CacheSettings settings;
  bool holds_all;
};

app::CacheSettings in_memory(std::uint64_t bytes) {
  app::CacheSettings settings;
  settings.memory = {bytes};
  return settings;
}

app::CacheSettings on_disk(std::uint64_t bytes, const fs::path& folder) {
  app::CacheSettings settings;
  settings.disk = {bytes};
  settings.folder = folder;
  return settings;
}

std::vector<Cap> caps(const fs::path& folder) {
  constexpr std::uint64_t some = 6 * kept_side * kept_side * 3;
  return {{in_memory(1 << 30), true},
          {on_disk(1 << 30, folder), true},
          {in_memory(some), false},
          {on_disk(some, folder), false}};
}

/// Counts what is read of the source behind a cache.
class Counting final : public headrace::Source {
 public:
  Counting(std::shared_ptr<const Source> source, std::atomic<std::int64_t>& reads)
      : source_(std::move(source)), reads_(reads) {}

  std::string name() const override { return source_->name(); }
  std::int64_t size() const override { return source_->size(); }
  headrace::Schema fields() const override { return source_->fields(); }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    ++reads_;
    source_->read(index, sample);
  }
  bool blocking() const override { return source_->blocking(); }

 private:
  std::shared_ptr<const Source> source_;
  std::atomic<std::int64_t>& reads_;
};

}  // namespace

TEST_CASE("a cached job gives the bytes of one without, and reads no file twice where all fits") {
  const TemporaryFolder folder;
  write_pictures(folder.path());
  for (const auto kind : {app::SourceKind::images, app::SourceKind::pairs}) {
    const std::string expected =
        two_epochs(app::make_loader_job(cache_config(folder.path(), kind, 1)));
    for (const int threads : {1, 2, 8}) {
      app::LoaderConfig config = cache_config(folder.path(), kind, threads);
      CHECK(two_epochs(app::make_loader_job(config)) == expected);
      for (const Cap& cap : caps(folder.path())) {
        CAPTURE(threads);
        CAPTURE(cap.settings.memory.value);
        CAPTURE(cap.settings.disk.value);
        config.data.cache = cap.settings;
        const fs::path away = folder.path() / "away";
        const std::string got = two_epochs(app::make_loader_job(config), [&] {
          if (cap.holds_all) fs::rename(folder.path() / "images", away);
        });
        if (cap.holds_all) fs::rename(away, folder.path() / "images");
        CHECK(got == expected);
      }
    }
  }
}

TEST_CASE("a cache before which something is drawn is refused, with the way out") {
  const TemporaryFolder folder;
  write_pictures(folder.path());
  app::LoaderConfig config = cache_config(folder.path(), app::SourceKind::images, 1);
  config.data.cache.memory = {1 << 20};
  config.image.resize = 0;
  const auto make = [&] { app::make_loader_job(config); };
  CHECK(headrace::test::contains(refusal(make), "\"decode\", draws its crop at random"));
  CHECK(headrace::test::contains(refusal(make), "set image.resize"));
  config.image.resize = kept_side;
  CHECK(refusal(make).empty());
  config.data.cache.disk = {1 << 20};
  CHECK(headrace::test::contains(refusal(make), "data.cache: either memory or disk"));
  config.data.cache.memory = {};
  CHECK(headrace::test::contains(refusal(make), "data.cache.folder must name a folder"));
}

TEST_CASE("the forecast counts a cache, but no more of it than all pictures need") {
  const TemporaryFolder folder;
  write_pictures(folder.path());
  app::LoaderConfig config = cache_config(folder.path(), app::SourceKind::images, 1);
  const std::uint64_t without = app::make_loader_job(config).forecast().total();
  const auto more = [&] { return app::make_loader_job(config).forecast().total() - without; };
  constexpr std::uint64_t all = pictures * (kept_side * kept_side * 3);
  config.data.cache.memory = {all / 2};
  CHECK(more() >= all / 2);
  CHECK(more() < all);
  config.data.cache.memory = {1ULL << 40};
  CHECK(more() >= all);
  CHECK(more() < 2 * all);
  config.data.cache = on_disk(1ULL << 40, folder.path());
  CHECK(more() < all);
}

TEST_CASE("bench loader takes a cache from YAML") {
  const TemporaryFolder folder;
  write_pictures(folder.path());
  std::ofstream(folder.path() / "loader.yaml")
      << "kind: loader\nbatch: 5\ndata:\n  source: images\n  folder: images\n"
         "  cache: {memory: 1MiB}\nimage: {side: 24, resize: 40}\n"
         "augment: [random_resized_crop, flip]\n";
  const auto bench = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> words{"bench", "loader", "loader.yaml", "--epochs", "3"};
    for (const std::string& setting : settings)
      words.insert(words.end(), {"--set", setting});
    return headrace::test::run_headrace(folder.path(), words);
  };
  const auto good = bench({});
  CHECK_MESSAGE(good.status == 0, good.err);
  CHECK(headrace::test::contains(good.out, "crop"));
  const auto disk = bench({"data.cache.memory=0B", "data.cache.disk=1MiB", "data.cache.folder=."});
  CHECK_MESSAGE(disk.status == 0, disk.err);
  const auto random = bench({"image.resize=0"});
  CHECK(random.status == 2);
  CHECK(headrace::test::contains(random.err, "set image.resize"));
  const auto useless = bench({"data.cache.folder=."});
  CHECK(useless.status == 2);
  CHECK(headrace::test::contains(useless.err, "cache.folder"));
}

TEST_CASE("the glaucoma job's cache gives the same bytes and reads each record once") {
  const TemporaryFolder folder;
  app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.data.resident = {0};
  config.training.batch = 10;
  headrace::test::write_glaucoma_data(config.data.file, 60, 15);
  config.threads.loader = 1;
  const std::string expected = two_epochs(app::make_glaucoma_loader_job(config));
  for (const int threads : {1, 2, 8}) {
    config.threads.loader = threads;
    for (const Cap& cap : caps(folder.path())) {
      CAPTURE(threads);
      CAPTURE(cap.settings.memory.value);
      CAPTURE(cap.settings.disk.value);
      config.data.cache = cap.settings;
      std::atomic<std::int64_t> reads{0};
      app::LoaderJob job = app::make_glaucoma_loader_job(config);
      job.source.open = [open = job.source.open, &reads] {
        return std::make_shared<const Counting>(open(), reads);
      };
      CHECK(two_epochs(std::move(job)) == expected);
      CHECK((reads == 60) == cap.holds_all);
    }
  }
}

TEST_CASE("a cache that cannot be is refused before a record is read") {
  const TemporaryFolder folder;
  app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.training.batch = 10;
  headrace::test::write_glaucoma_data(config.data.file, 60, 15);
  const auto plan = [&] { return app::plan_glaucoma_source(config.data); };
  config.data.cache = on_disk(1 << 20, folder.path() / "nowhere");
  CHECK_THROWS_AS(plan(), headrace::ResourceError);
  CHECK_THROWS_AS(app::make_glaucoma_loader_job(config), headrace::ResourceError);
  config.data.cache = in_memory(100);
  CHECK(headrace::test::contains(refusal(plan), "data.cache.memory must hold at least one record"));
  config.data.cache = on_disk(100, folder.path());
  CHECK(headrace::test::contains(refusal(plan), "data.cache.disk must hold at least one record"));
  config.data.cache = on_disk(1 << 20, {});
  config.data.file = folder.path() / "missing.h5";
  CHECK(headrace::test::contains(refusal(plan), "data.cache.folder must name a folder"));

  app::LoaderConfig pictures = cache_config(folder.path(), app::SourceKind::images, 1);
  write_pictures(folder.path());
  pictures.data.cache = in_memory(100);
  CHECK(headrace::test::contains(refusal([&] { app::make_loader_job(pictures); }),
                                 "data.cache.memory must hold at least one record"));
  pictures.data.cache = on_disk(1 << 20, folder.path() / "nowhere");
  CHECK_THROWS_AS(app::make_loader_job(pictures), headrace::ResourceError);
}
