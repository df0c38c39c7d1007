#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/feed/old_keys.h>
#include <headrace/tests/apps/moved_keys.h>
#include <headrace/tests/apps/started_program.h>

#include <string>

#include <doctest/doctest.h>

namespace app = headrace::app;

TEST_CASE("a plain loader's keys of the old form are told the new ones") {
  const std::string listed = " is now an entry of the list augment: write ";
  headrace::test::check_moved(
      app::old_loader_keys(),
      {{"source:\n  kind: images\n  folder: x\n",
        "2:3: source.kind is now data.source: write \"data: {source: images, ...}\""},
       {"source:\n  file: x.h5\n", "2:3: source.file is now data.file"},
       {"source: {rows: 5}\n", "1:10: source.rows is now data.rows"},
       {"cache: {memory: 1GiB}\n", "1:9: cache.memory is now data.cache.memory"},
       {"prefetch: 4\n", "1:1: prefetch is now data.prefetch"},
       {"image:\n  flip: 0.5\n",
        "2:3: image.flip" + listed + "\"augment: [random_resized_crop, {flip: 0.5}]\""},
       {"image:\n  rotation: 5\n",
        "2:3: image.rotation" + listed + "\"augment: [random_resized_crop, {rotate: 5}]\""}});
}

TEST_CASE("a setting of the old form is told the new key, with itself as the place") {
  CHECK(headrace::test::said(app::old_loader_keys(), "kind: loader\n", "source.folder=x") ==
        "[config] --set source.folder=x: source.folder is now data.folder");
  CHECK(headrace::test::said(app::old_loader_keys(), "kind: loader\n", "sauce.folder=x") ==
        "[config] --set sauce.folder=x: key \"sauce\" is not known");
}

TEST_CASE("the program refuses a configuration of the old form with exit 2 and its line") {
  using headrace::test::bench_refusal;
  using headrace::test::contains;
  CHECK(contains(bench_refusal("kind: loader\nsource:\n  kind: synthetic\nbatch: 8\n"),
                 "job.yaml:3:3: source.kind is now data.source"));
  CHECK(contains(bench_refusal("kind: loader\nimage: {flip: 0.5}\n"),
                 "write \"augment: [random_resized_crop, {flip: 0.5}]\""));
}

TEST_CASE("every key that advice names is a key of a plain loader") {
  app::LoaderConfig config;
  app::Fields fields;
  describe(fields, config);
  headrace::test::check_advised_keys(fields.paths());
}
