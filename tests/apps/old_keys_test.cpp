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
        "2:3: source.kind is now data.source\n  job.yaml:3:3: source.folder is now data.folder\n"
        "write instead:\n  data: {source: images, folder: x}"},
       {"source:\n  file: x.h5\n",
        "2:3: source.file is now data.file: write \"data: {file: x.h5}\""},
       {"source: {rows: 5}\n", "1:10: source.rows is now data.rows: write \"data: {rows: 5}\""},
       {"cache: {memory: 1GiB}\n",
        "1:9: cache.memory is now data.cache.memory: write \"data: {cache: {memory: 1GiB}}\""},
       {"prefetch: 4\n", "1:1: prefetch is now data.prefetch: write \"data: {prefetch: 4}\""},
       {"image:\n  flip: 0.5\n",
        "2:3: image.flip" + listed + "\"augment: [random_resized_crop, {flip: 0.5}]\""},
       {"image:\n  rotation: 5\n",
        "2:3: image.rotation" + listed +
            "\"augment: [random_resized_crop, {flip: 0.5}, {rotate: 5}]\""},
       {"image:\n  flip: 0\n", "2:3: image.flip" + listed + "\"augment: [random_resized_crop]\""},
       {"augment: [resize, {flip: 0.25}]\nimage:\n  flip: 0.75\n",
        "3:3: image.flip" + listed + "\"augment: [resize, {flip: 0.75}]\""}});
}

TEST_CASE("a setting of the old form is told the new key, with itself as the place") {
  CHECK(headrace::test::said(app::old_loader_keys(), "kind: loader\n", "source.folder=x") ==
        "[config] --set source.folder=x: source.folder is now data.folder: write "
        "\"data: {folder: x}\"");
  CHECK(headrace::test::said(app::old_loader_keys(), "kind: loader\n", "sauce.folder=x") ==
        "[config] --set sauce.folder=x: key \"sauce\" is not known");
}

TEST_CASE(
    "all keys of the old form are told at once, with what is to be written for them together") {
  CHECK(headrace::test::said(app::old_loader_keys(),
                             "kind: loader\nimage: {rotation: 5}\nsource:\n  kind: images\n"
                             "  listings: null\nprefetch: 2\n",
                             "cache.memory=1GiB") ==
        "[config] these keys have moved:\n"
        "  job.yaml:2:9: image.rotation is now an entry of the list augment\n"
        "  job.yaml:4:3: source.kind is now data.source\n"
        "  job.yaml:5:3: source.listings is now data.listings\n"
        "  job.yaml:6:1: prefetch is now data.prefetch\n"
        "  --set cache.memory=1GiB: cache.memory is now data.cache.memory\n"
        "write instead:\n"
        "  augment: [random_resized_crop, {flip: 0.5}, {rotate: 5}]\n"
        "  data: {source: images, listings: null, prefetch: 2, cache: {memory: 1GiB}}");
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
