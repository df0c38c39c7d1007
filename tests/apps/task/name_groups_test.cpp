// What of a name is its group, and which names show groups by themselves.
#include <headrace/apps/task/find_groups.h>
#include <headrace/apps/task/group_columns.h>
#include <headrace/apps/task/name_groups.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::GroupPattern;

namespace {

std::string group_in(const std::string& pattern, const std::string& name) {
  return std::string(GroupPattern(pattern).group_of(name));
}

app::RecordNames named(const std::vector<std::string>& names) {
  return {.source = "names",
          .size = static_cast<std::int64_t>(names.size()),
          .at = [names](std::int64_t row) { return names[static_cast<std::size_t>(row)]; }};
}

/// The pattern that names show, each made of its number; empty: none.
std::string shown(int count, const std::function<std::string(int)>& name,
                  const std::function<int(int)>& label = {}) {
  std::vector<std::string> names;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < count; ++i) {
    names.push_back(name(i));
    if (label) labels.push_back(label(i));
  }
  const auto found = app::find_groups(named(names), labels);
  return found ? found->pattern : "";
}

std::string number(int value) {
  return std::to_string(value);
}

}  // namespace

TEST_CASE("a pattern takes its group out of a name") {
  CHECK(group_in("<group>_left|<group>_right", "4/10_left") == "10");
  CHECK(group_in("<group>_left|<group>_right", "10_right") == "10");
  CHECK(group_in("<group>_left|<group>_right", "10_middle").empty());
  CHECK(group_in("<group>_left", "_left").empty());
  CHECK(group_in("<group>_left", "a_left_left") == "a_left");
  CHECK(group_in("patient_<group>_slice_*", "x/patient_0007_slice_3") == "0007");
  CHECK(group_in("patient_<group>_slice_*", "patient_0007_slice_") == "0007");
  CHECK(group_in("<group>_*", "a_b_c") == "a");
  CHECK(group_in("*-<group>-*", "CNV-1016042-1") == "1016042");
  CHECK(group_in("*-<group>-*", "CNV--1").empty());
  CHECK(group_in("<group>/*", "cat/patient7/3") == "patient7");
  CHECK(group_in("<group>/*/*", "cat/patient7/3") == "cat");
  CHECK(group_in("<group>/*/*/*", "cat/patient7/3").empty());
  CHECK(group_in("<group>", "cat/7") == "7");
  CHECK(group_in("a<group>a", "aa").empty());
  CHECK(group_in("a<group>a", "aba") == "b");
  CHECK(group_in("*ab<group>ab", "ababab") == "ab");
}

TEST_CASE("a pattern that begins anew everywhere takes no longer than the name is long") {
  std::string pattern = "<group>";
  for (int i = 0; i < 200; ++i)
    pattern += "a*";
  const std::string name(1'000'000, 'a');
  const GroupPattern groups(pattern + "b|" + pattern + "a");
  CHECK(groups.group_of(name) == "a");
  CHECK(groups.group_of(name + "c").empty());
}

TEST_CASE("names that show eyes, slices, frames, counts and folders of an id are seen") {
  CHECK(
      shown(
          200,
          [](int i) { return number(i % 5) + '/' + number(i / 2) + (i % 2 ? "_left" : "_right"); },
          [](int i) { return i % 5; }) == "<group>_left|<group>_right");
  CHECK(shown(60, [](int i) { return number(i / 2) + (i % 2 ? "-OD" : "-OS"); }) ==
        "<group>-OD|<group>-OS");
  CHECK(shown(90, [](int i) {
          return "patient_" + number(1000 + i / 9) + "_slice_" + number(i % 9);
        }) == "patient_<group>_*");
  CHECK(shown(90, [](int i) { return "patient" + number(i / 9) + "_frame" + number(i % 9); }) ==
        "patient<group>_*");
  CHECK(shown(90, [](int i) { return "t1-sub-" + number(i / 9) + "_ses-" + number(i % 9); }) ==
        "*-sub-<group>_*");
  CHECK(shown(90, [](int i) { return "BraTS_" + number(i / 9) + "_slice" + number(i % 9); }) ==
        "<group>_slice*");
  CHECK(shown(
            90,
            [](int i) {
              return (i % 2 ? "CNV-" : "DME-") + number(40000 + i / 9) + '-' + number(i % 9);
            },
            [](int i) { return i % 2; }) == "*-<group>-*");
  CHECK(shown(90, [](int i) { return "p" + number(i / 9) + '/' + number(i); }) == "<group>/*");

  CHECK(shown(90, [](int i) {
          return "patient" + number(i / 9) + "/study" + number(i % 3) + "/view" + number(i % 9);
        }) == "<group>/*/*");

  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i)
    names.push_back(number(i / 2) + (i % 2 == 0 ? "_left" : "_right"));
  const auto found = app::find_groups(named(names), {});
  REQUIRE(found);
  CHECK(found->reason ==
        "2000 names are of 1000 groups, up to 2 of one: \"0_left\" and \"0_right\" are of \"0\"");
  CHECK(found->groups.names.size() == 1000);
  CHECK(app::can_divide(found->groups, {}, {}));
  CHECK_FALSE(app::can_divide(found->groups, {}, {.test = 0.0, .folds = 1001}));
}

TEST_CASE("names that count, or say the class, show no groups") {
  const auto half = [](int i) { return i % 2; };
  CHECK(shown(100, [](int i) { return "img_" + number(i); }).empty());
  CHECK(shown(100, [](int i) { return number(i); }).empty());
  CHECK(shown(100, [](int i) { return "ISIC_" + number(24306 + i); }).empty());
  CHECK(shown(100, [](int i) { return "2007_" + number(100000 + i); }).empty());
  CHECK(shown(100, [](int i) { return "COD10K-CAM-1-Aquatic-1-BatFish-" + number(i); }).empty());
  CHECK(shown(100, [](int i) { return "camourflage_" + number(i); }).empty());
  // The class in front, its number behind.
  CHECK(shown(
            100, [](int i) { return "class" + number(i % 10) + "_" + number(i / 10); },
            [](int i) { return i % 10; })
            .empty());
  CHECK(shown(
            100,
            [](int i) {
              return "n0144" + number(i % 10) + "/n0144" + number(i % 10) + '_' + number(i);
            },
            [](int i) { return i % 10; })
            .empty());
  // The class behind: one sort left, one right; before and after.
  CHECK(shown(
            100, [](int i) { return number(i / 2) + (i % 2 ? "_left" : "_right"); }, half)
            .empty());
  CHECK(shown(
            100, [](int i) { return "7x" + number(i / 2) + '_' + number(i % 2); }, half)
            .empty());
  // An id once each: nothing is together.
  CHECK(shown(100, [](int i) { return "patient_" + number(i) + "_slice_0"; }).empty());
  CHECK(shown(100, [](int i) { return number(i) + (i % 2 ? "_left" : "_right"); }).empty());
  // Few folders, or few numbers without a word: parts of the data, perhaps.
  CHECK(shown(100, [](int i) { return "fold" + number(i % 5) + '/' + number(i); }).empty());
  // What a pattern cannot hold, and too few groups.
  CHECK(shown(100, [](int i) {
          return "a*b|<group>_" + number(i / 2) + (i % 2 ? "_left" : "_right");
        }).empty());
  CHECK(shown(100, [](int i) {
          return "patient_" + number(i % 2) + "_slice_" + number(i / 2);
        }).empty());
  CHECK(shown(0, number).empty());
}

TEST_CASE("names of columns that say who is behind a record, however they are written") {
  for (const char* name : {"patient", "Patient ID", "patientId", "PATIENT_IDS", "subject-id",
                           "subjects", "lesion_id", "speaker no", "group", "case_number"}) {
    CAPTURE(name);
    CHECK(app::group_rank(name));
  }
  for (const char* name : {"", "id", "patient_age", "casein", "cases_seen", "groupe", "image_id",
                           "case", "lesion", "lesions", "animal"}) {
    CAPTURE(name);
    CHECK_FALSE(app::group_rank(name));
  }
  CHECK(*app::group_rank("Patient ID") < *app::group_rank("case_id"));
}
