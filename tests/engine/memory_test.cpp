#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t page = 16'384;

/// Records of 64 KiB that need twice that while they are worked on.
class Pages final : public Source {
 public:
  Pages(std::int64_t records, bool blocking) : records_(records), blocking_(blocking) {}
  std::string name() const override { return "pages"; }
  std::int64_t size() const override { return records_; }
  Schema fields() const override { return {FieldSpec::fixed("page", DType::float32, Shape{page})}; }
  bool blocking() const override { return blocking_; }
  std::size_t working_bytes(std::int64_t) const override { return 2 * sizeof(float) * page; }
  std::size_t largest_working_bytes() const override { return working_bytes(0); }
  void read(std::int64_t index, Sample& sample) const override {
    reads_->fetch_add(1);
    auto raw = sample.make("raw", DType::float32, Shape{page}).values<float>();
    for (float& value : raw)
      value = static_cast<float>(index);
    sample.set("page", sample["raw"]);
    sample.remove("raw");
  }
  std::int64_t reads() const { return reads_->load(); }

 private:
  std::int64_t records_;
  bool blocking_;
  std::shared_ptr<std::atomic<std::int64_t>> reads_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
};

/// Writes the field anew, in other memory.
void rewrite(Sample& sample) {
  const Tensor old = sample["page"];
  auto out = sample.make("page", DType::float32, Shape{page}).values<float>();
  const auto in = old.values<float>();
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = in[k] + 1.0F;
}

}  // namespace

TEST_CASE("a trainer a hundred times slower never makes the loader hold more than the forecast") {
  Watchdog watchdog("a slow trainer");
  for (bool blocking : {false, true}) {
    for (bool fuse : {true, false}) {
      for (int prefetch : {1, 4, 16}) {
        const Runtime runtime({.threads = 4});
        Loader loader = Pipeline::from(Pages(64, blocking))
                            .then(rewrite)
                            .then(rewrite)
                            .batch({.size = 4})
                            .build({.prefetch = prefetch, .fuse = fuse, .runtime = runtime});
        const std::size_t forecast = loader.forecast().total();
        CHECK(forecast >= static_cast<std::size_t>(prefetch + 1) * 4 * sizeof(float) * page);
        for (Batch& batch : loader.epoch(0)) {
          CHECK(batch["page"].row(0).values<float>()[0] >= 2.0F);
          std::this_thread::sleep_for(2ms);
          CHECK(runtime.memory_in_use() <= forecast);
        }
        CAPTURE(blocking);
        CAPTURE(fuse);
        CAPTURE(prefetch);
        const LoaderStats stats = loader.stats();
        CHECK(stats.peak_bytes_held > 0);
        CHECK(static_cast<std::size_t>(stats.peak_bytes_held) <= forecast);
        CHECK(stats.bytes_held <= stats.peak_bytes_held);
      }
    }
  }
}

TEST_CASE("the forecast is a sum of named parts and covers what the process takes") {
  if (sanitized) return;
  Watchdog watchdog("forecast and resident memory");
  for (bool blocking : {false, true}) {
    for (bool fuse : {true, false}) {
      const Runtime runtime({.threads = 4});
      const std::int64_t before = resident_bytes();
      Loader loader = Pipeline::from(Pages(1000, blocking))
                          .then(rewrite)
                          .then(rewrite)
                          .batch({.size = 64})
                          .build({.fuse = fuse, .runtime = runtime});
      const MemoryForecast forecast = loader.forecast();
      std::size_t sum = 0;
      for (const MemoryForecast::Item& item : forecast.items) {
        CHECK_FALSE(item.name.empty());
        sum += item.bytes;
      }
      CHECK(sum == forecast.total());
      std::int64_t most = 0;
      for (Batch& batch : loader.epoch(0)) {
        CHECK(batch.size() > 0);
        most = std::max(most, resident_bytes() - before);
      }
      CAPTURE(blocking);
      CAPTURE(fuse);
      CHECK(most <= static_cast<std::int64_t>(forecast.total()) + (std::int64_t{8} << 20));
    }
  }
}

TEST_CASE("a limit that the loader cannot keep is refused with the sum, before anything is read") {
  auto source = std::make_shared<Pages>(64, true);
  auto build = [&source](std::size_t limit) {
    return Pipeline::from(source)
        .batch({.size = 4})
        .build({.host_memory = limit, .runtime = Runtime({.threads = 2})});
  };
  const std::size_t needed = build(0).forecast().total();
  CHECK_NOTHROW(build(needed));
  try {
    build(needed / 4);
    FAIL("no error");
  } catch (const ResourceError& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(message.find_first_of("0123456789") != std::string::npos);
    CHECK((message.find("MiB") != std::string::npos || message.find("KiB") != std::string::npos ||
           message.find("bytes") != std::string::npos));
  }
  CHECK(source->reads() == 0);
}

TEST_CASE("a runtime's budget is refused to a loader that alone is too large for it") {
  CHECK_THROWS_AS(Pipeline::from(Pages(64, false))
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = 2, .memory = 256_KiB})}),
                  ResourceError);
}

TEST_CASE(
    "ten loaders take turns in a budget for little more than one: an idle loader holds no slabs") {
  Watchdog watchdog("ten loaders in turn");
  auto build = [](const Runtime& runtime) {
    return Pipeline::from(Pages(32, false))
        .batch({.size = 4})
        .build({.join_epochs = false, .runtime = runtime});
  };
  const std::size_t one = build(Runtime({.threads = 2})).forecast().total();
  const Runtime runtime({.threads = 2, .memory = one + one / 2});
  std::vector<Loader> loaders;
  for (int k = 0; k < 10; ++k)
    loaders.push_back(build(runtime));
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    for (Loader& loader : loaders) {
      std::int64_t rows = 0;
      for (Batch& batch : loader.epoch(epoch))
        rows += batch.size();
      CHECK(rows == 32);
      CHECK(runtime.memory_in_use() <= runtime.memory_limit());
    }
  }
  loaders.clear();
  CHECK(runtime.memory_in_use() == 0);
}

TEST_CASE("a small budget for samples slows down and does not deadlock") {
  Watchdog watchdog("a small budget for samples");
  for (int threads : {1, 8}) {
    Loader loader =
        Pipeline::from(Pages(64, true))
            .then(rewrite)
            .batch({.size = 8})
            .build({.sample_memory = 1, .fuse = false, .runtime = Runtime({.threads = threads})});
    std::int64_t place = 0;
    for (Batch& batch : loader.epoch(0))
      for (std::int64_t row = 0; row < batch.size(); ++row)
        CHECK(batch["page"].row(row).values<float>()[page - 1] == static_cast<float>(1 + place++));
    CHECK(place == 64);
  }
}

namespace {

/// Makes the field "made" in a length of its own for each batch, and keeps its memory from being
/// given out anew.
struct Varying {
  std::shared_ptr<std::vector<Tensor>> made = std::make_shared<std::vector<Tensor>>();
  std::function<std::int64_t(const Batch&)> length;
  void operator()(Batch& batch) const {
    made->push_back(batch.make("made", DType::uint8, Shape{length(batch)}));
  }
};

}  // namespace

TEST_CASE("a field that a batch step makes in another shape each time finds its memory again") {
  Watchdog watchdog("made in another shape");
  const auto length = [](const Batch& batch) {
    return 5000 - std::max<std::int64_t>(0, batch.number() - 10);
  };
  const Varying step{.length = length};
  Loader loader = Pipeline::from(Pages(400, false))
                      .batch({.size = 4})
                      .then(step)
                      .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  for (Batch& batch : loader.epoch(0))
    CHECK(batch["made"].elements() == length(batch));
  std::set<const void*> places;
  for (const Tensor& made : *step.made)
    places.insert(made.raw());
  CHECK(step.made->size() == 100);
  CHECK(std::ssize(places) <= 2 * loader.stats().slabs);
}

TEST_CASE("a field that is made longer than ever gives its shorter memory back") {
  Watchdog watchdog("made longer and longer");
  const auto kept = std::make_shared<std::vector<std::weak_ptr<const void>>>();
  Loader loader = Pipeline::from(Pages(400, false))
                      .batch({.size = 4})
                      .then([kept](Batch& batch) {
                        const Shape longer{300 * (batch.number() + 1)};
                        kept->push_back(batch.make("made", DType::uint8, longer).keep());
                      })
                      .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  for (Batch& batch : loader.epoch(0)) {
    CHECK(batch["made"].elements() == 300 * (batch.number() + 1));
    if (batch.number() != 99) continue;
    const auto live =
        std::ranges::count_if(*kept, [](const auto& each) { return !each.expired(); });
    CHECK(live >= 1);
    CHECK(live <= loader.stats().slabs);
  }
}

TEST_CASE("the forecast counts the memory that fields made again and again take, once each") {
  struct As {
    DType dtype;
    Schema schema(const Schema& in) const {
      Schema out = in;
      out.put(FieldSpec::fixed("made", dtype, Shape{25}));
      return out;
    }
    void operator()(Batch& batch) const { batch.make("made", dtype, Shape{batch.size(), 25}); }
  };
  const auto source = std::make_shared<Pages>(32, false);
  const auto total = [](const Pipeline& recipe) {
    return recipe.build({.runtime = Runtime({.threads = 2})}).forecast().total();
  };
  const Pipeline plain = Pipeline::from(source).batch({.size = 4});
  const Pipeline chain = Pipeline(plain)
                             .then(As{DType::uint8})
                             .then(As{DType::int16})
                             .then(As{DType::int64})
                             .then(As{DType::uint8});
  // 100 and 800 bytes alternate with 200 and 100: two pieces, rounded up.
  const int slabs = plain.build({.runtime = Runtime({.threads = 2})}).stats().slabs;
  CHECK(total(chain) - total(plain) == static_cast<std::size_t>(slabs) * (1024 + 256));
}
