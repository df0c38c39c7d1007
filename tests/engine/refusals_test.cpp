#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <cstdint>
#include <functional>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// The message of the ConfigError, or nothing when there was none.
std::string refusal(const std::function<void()>& request) {
  try {
    request();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& message, const std::string& word) {
  CAPTURE(message);
  CAPTURE(word);
  const bool found = message.find(word) != std::string::npos;
  CHECK(found);
  return found;
}

/// Wants a field that may not be there.
struct Wants {
  std::string field;
  std::string name() const { return "wants"; }
  Schema schema(const Schema& in) const {
    in.at(field, "wants");
    return in;
  }
  void operator()(Sample&) const {}
};

}  // namespace

TEST_CASE("a step that asks for an unknown field is refused before anything runs") {
  auto source = table({.records = 8});
  const std::string message =
      refusal([&] { Pipeline::from(source).then(Wants{"picture"}).batch({.size = 4}).build(); });
  says(message, "picture");
  says(message, "wants");
  says(message, "value");
  CHECK(source->reads() == 0);
  CHECK(refusal([&] {
          Pipeline::from(source).then(Wants{"value"}).batch({.size = 4}).build();
        }).empty());
}

TEST_CASE("steps on the wrong side of batch() are refused with the way out") {
  says(refusal([] {
         Pipeline::from(table({.records = 8}))
             .then([](Batch&) {}, {.name = "mix"})
             .batch({.size = 4})
             .build();
       }),
       "batch()");
  const std::string late = refusal([] {
    Pipeline::from(table({.records = 8}))
        .batch({.size = 4})
        .then([](Sample&) {}, {.name = "turn"})
        .build();
  });
  says(late, "turn");
  says(late, "before batch()");
}

TEST_CASE("a pipeline without batch() is refused") {
  says(refusal([] { Pipeline::from(table({.records = 8})).build(); }), "batch");
}

TEST_CASE("sizes that cannot be right are refused") {
  auto build = [](Batching batching, LoaderOptions options) {
    return refusal([&] { Pipeline::from(table({.records = 8})).batch(batching).build(options); });
  };
  CHECK_FALSE(build({.size = 0}, {}).empty());
  CHECK_FALSE(build({.size = -4}, {}).empty());
  CHECK_FALSE(build({.size = 4}, {.prefetch = -1}).empty());
  CHECK_FALSE(build({.size = 4}, {.loans = -1}).empty());
  CHECK(build({.size = 4}, {}).empty());
}

TEST_CASE("a negative limit of a step is refused") {
  says(
      refusal([] {
        Pipeline::from(table({.records = 8})).then(Sum{}, {.limit = -1}).batch({.size = 4}).build();
      }),
      "sum");
}

TEST_CASE(
    "a loader that would be empty is refused as data that do not suffice, with both numbers") {
  auto message_of = [](std::int64_t records, Tail tail) -> std::string {
    try {
      Pipeline::from(table({.records = records})).batch({.size = 64, .tail = tail}).build();
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  };
  says(message_of(5, Tail::drop), "5");
  says(message_of(5, Tail::drop), "64");
  CHECK(message_of(64, Tail::drop).empty());
  CHECK(message_of(5, Tail::shorter).empty());
  CHECK(message_of(5, Tail::pad).empty());
  CHECK_THROWS_AS(message_of(0, Tail::shorter), ConfigError);
}

TEST_CASE("two fields of one name are refused or replaced, never delivered twice") {
  struct Again {
    Schema schema(const Schema& in) const {
      Schema out = in;
      out.put(FieldSpec::fixed("value", DType::float32, Shape{2}));
      return out;
    }
    void operator()(Sample& sample) const {
      float* out = sample.make("value", DType::float32, Shape{2}).data<float>();
      out[0] = 1.0F;
      out[1] = 2.0F;
    }
  };
  Watchdog watchdog("a replaced field");
  Loader loader = Pipeline::from(table({.records = 8}))
                      .then(Again{})
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = 1})});
  const NextBatch next = loader.next();
  CHECK(next.batch["value"].shape() == Shape{4, 2});
  CHECK(next.batch["value"].values<float>()[7] == 2.0F);
  CHECK(next.batch.names().size() == 2);
}

TEST_CASE("a loader is plain to build twice from one recipe") {
  Watchdog watchdog("one recipe, two loaders");
  const Pipeline recipe = Pipeline(work_on(table({.records = 40}), true).batch({.size = 8}));
  const Runtime runtime({.threads = 2});
  Loader a = recipe.build({.runtime = runtime});
  Loader b = recipe.build({.prefetch = 1, .runtime = runtime});
  CHECK(same(stream_of(a, 0, 2).batches, stream_of(b, 0, 2).batches));
}
