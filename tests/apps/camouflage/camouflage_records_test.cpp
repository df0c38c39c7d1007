// Which pictures the job takes, and how it divides them.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/camouflage/records.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/camouflage/hidden_animals.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace;
using namespace headrace::test;
using app::CamouflageConfig;

std::string pairs_in(const std::filesystem::path& folder) {
  return "{source: pairs, folder: " + (folder / "Imgs").string() +
         ", masks: " + (folder / "GT_Object").string() + "}";
}

app::TaskRecords records(const std::filesystem::path& folder,
                         const std::vector<std::string>& settings = {}) {
  const std::string yaml =
      "kind: camouflage\ndata: {train: " + pairs_in(folder) + ", listings: ''}\n";
  const auto job = app::read_training_text(app::jobs(), yaml, "job.yaml", settings);
  return app::camouflage_records(dynamic_cast<const CamouflageConfig&>(*job.config));
}

std::map<std::string, int> kinds_of(const app::TaskRecords& records,
                                    const std::vector<std::int64_t>& rows) {
  std::map<std::string, int> kinds;
  for (const std::int64_t row : rows)
    ++kinds[app::cod_name_of(records.train.source->origin(row)).super_class];
  return kinds;
}

}  // namespace

TEST_CASE("parts have each super-class as often, not the first of the sorted names") {
  const TemporaryFolder folder;
  write_animals(folder.path(), 60);  // 40 of water, 20 of land
  const app::TaskRecords all =
      records(folder.path(), {"data.split.validation=0.2", "data.split.test=0.2"});
  const auto& member = all.members.front();
  CHECK(member.train.size() == 36);
  for (const auto* part : {&member.validation, &member.test}) {
    const auto kinds = kinds_of(all, *part);
    CHECK(kinds.at("Aquatic") == 8);
    CHECK(kinds.at("Terrestrial") == 4);
  }
  // The original's validation: the first fifth.
  std::vector<std::int64_t> first(12);
  for (std::size_t i = 0; i < first.size(); ++i)
    first[i] = static_cast<std::int64_t>(i);
  CHECK(kinds_of(all, first).size() == 1);
}

TEST_CASE("pictures that say NonCAM are left out unless all are asked for") {
  const TemporaryFolder folder;
  write_animals(folder.path(), 12);
  for (int i = 0; i < 4; ++i)
    write_plain_picture(folder.path(), i);
  const std::vector<std::string> undivided{"data.split.validation=0", "data.split.test=0"};
  CHECK(records(folder.path(), undivided).members.front().train.size() == 12);
  std::vector<std::string> all = undivided;
  all.emplace_back("pictures=all");
  CHECK(records(folder.path(), all).members.front().train.size() == 16);
}

TEST_CASE("a folder of nothing camouflaged is refused") {
  const TemporaryFolder folder;
  for (int i = 0; i < 12; ++i)
    write_plain_picture(folder.path(), i);
  CHECK_THROWS_WITH_AS(records(folder.path()), doctest::Contains("pictures: all"), DataError);
}

TEST_CASE("a mask of 0 and 1 is no mask of an object") {
  const TemporaryFolder folder;
  const auto imgs = folder.path() / "Imgs";
  const auto masks = folder.path() / "GT_Object";
  const auto source = [&] {
    return records(folder.path(), {"data.split.validation=0.4"}).train.source;
  };
  write_squares(imgs, masks, 6, 255);
  CHECK_NOTHROW(app::require_objects(*source()));
  write_square_mask(masks / "3.png", 1);  // one of many is enough
  CHECK_THROWS_WITH_AS(app::require_objects(*source()), doctest::Contains("3.png"), DataError);
}
