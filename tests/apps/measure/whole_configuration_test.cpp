// Configurations of any kind, as doctor and tune read them.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/loaders/cache/decoded_cache.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/refusal.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::test::refusal;
using headrace::test::TemporaryFolder;

}  // namespace

TEST_CASE("what is wrong with a configuration is said as train says it, with its place") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "bad.yaml";
  const auto both_say = [&](const char* batch, const std::vector<std::string>& settings) {
    std::ofstream(file) << "# a comment\n\nkind: leak\n# another\ndata: {training: a.h5, "
                           "validation: b.h5, testing: c.h5}\ntraining:\n  # a third\n  batch: "
                        << batch << "\n";
    const std::string trained =
        refusal([&] { static_cast<void>(app::read_training_job(app::jobs(), file, settings)); });
    CHECK(trained == refusal([&] {
            static_cast<void>(app::read_whole_configuration(app::jobs(), file, settings));
          }));
    return trained;
  };
  CHECK(both_say("-3", {}).find("bad.yaml:8:10") != std::string::npos);
  CHECK(both_say("3", {"training.batch=-3"}).find("--set training.batch=-3") != std::string::npos);
}

TEST_CASE("decoded records are counted with their masks, as a cache keeps them") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  headrace::test::write_squares(folder.path() / "images", folder.path() / "masks", 3, 1);
  const app::WholeConfiguration whole = app::read_whole_configuration(
      app::jobs(), app::parse_document("kind: loader\ndata: {source: pairs, folder: " + at +
                                           "/images, masks: " + at +
                                           "/masks, listings: \"\"}\nimage: {side: 64}\nbatch: 2\n",
                                       "pairs.yaml"));
  const headrace::Schema kept{
      headrace::FieldSpec::fixed("image", headrace::DType::uint8, {64, 64, 3}),
      headrace::FieldSpec::fixed("mask", headrace::DType::uint8, {64, 64})};
  CHECK(app::record_bytes(whole).decoded >= headrace::DecodedCache::bytes_for(kept, 3));
}

TEST_CASE("a picture that is decoded larger than it is shown is counted as it is kept") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 8);
  const auto bytes = [&](const char* resize) {
    return app::record_bytes(
               app::read_whole_configuration(
                   app::jobs(),
                   app::parse_document(
                       "kind: classification\ndata: {listings: \"\", train: {folder: " +
                           (folder.path() / "pictures").string() +
                           "}}\nimage: {size: 64, resize: " + resize + "}\n",
                       "c.yaml")))
        .decoded;
  };
  CHECK(bytes("0") > 0);
  CHECK(bytes("128") == 4 * bytes("0"));
}
