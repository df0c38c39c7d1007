#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/apps/inspect/data_survey.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/started_program.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

namespace app = headrace::app;
using headrace::DType;
using headrace::FieldSpec;
using headrace::test::contains;

constexpr std::int64_t size = 9001;  // more than a block

/// Records of a number, a label and, unless they gather, a row of as many values as its index says.
class Numbers final : public headrace::Source {
 public:
  explicit Numbers(bool gathers, std::int64_t bad = -1) : gathers_(gathers), bad_(bad) {}

  std::string name() const override { return "numbers"; }
  std::int64_t size() const override { return ::size; }
  headrace::Schema fields() const override {
    headrace::Schema fields{FieldSpec::fixed("value", DType::float32, {2}),
                            FieldSpec::fixed("label", DType::int16, {})};
    if (!gathers_) fields.put(FieldSpec::ragged("row", DType::uint8, 5));
    return fields;
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    if (index == bad_) throw headrace::DataError("not here");
    auto* value = sample.make("value", DType::float32, {2}).data<float>();
    value[0] = static_cast<float>(index);
    value[1] = index == 3 ? std::numeric_limits<float>::infinity() : -1.5F;
    sample.set_scalar<std::int16_t>("label", static_cast<std::int16_t>(index % 3));
    if (gathers_) return;
    const std::int64_t length = 1 + index % 5;
    auto* row = sample.make("row", DType::uint8, {length}).data<std::uint8_t>();
    std::memset(row, static_cast<int>(length), static_cast<std::size_t>(length));
  }
  bool gathers() const override { return gathers_; }
  void gather(std::span<const std::int64_t> indices, const headrace::Rows& rows) const override {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      headrace::Sample sample;
      read(indices[k], sample);
      const auto at = static_cast<std::int64_t>(k);
      std::memcpy(rows.row(0, at), sample["value"].raw(), 2 * sizeof(float));
      std::memcpy(rows.row(1, at), sample["label"].raw(), sizeof(std::int16_t));
    }
  }

 private:
  bool gathers_;
  std::int64_t bad_;
};

app::DataPart part_of_numbers(std::shared_ptr<const headrace::Source> source) {
  app::DataPart part{.name = "training", .records = source, .fields = source->fields()};
  part.classes = {"none", "some"};
  return part;
}

}  // namespace

TEST_CASE("a survey of samples finds least, most, mean and counts, on any number of threads") {
  for (const bool gathers : {true, false}) {
    for (const int threads : {1, 2, 8}) {
      CAPTURE(gathers);
      CAPTURE(threads);
      const app::DataPart part = part_of_numbers(std::make_shared<const Numbers>(gathers));
      std::int64_t seen = 0;
      const app::DataSurvey found = app::survey(
          part, {.threads = threads, .on_progress = [&seen](std::int64_t done) { seen = done; }});
      CHECK(seen == size);
      CHECK(found.records == size);
      CHECK(found.bad.empty());
      const app::FieldSurvey& value = found.fields.at(0);
      CHECK(value.least == -1.5);
      CHECK(value.most == static_cast<double>(size - 1));
      CHECK(value.not_finite == 1);
      CHECK(value.numbers == 2 * size - 1);
      const double sum = 0.5 * static_cast<double>(size) * static_cast<double>(size - 1) -
                         1.5 * static_cast<double>(size - 1);
      CHECK(value.mean() == doctest::Approx(sum / static_cast<double>(2 * size - 1)));
      CHECK_FALSE(value.counted());
      const app::FieldSurvey& label = found.fields.at(1);
      CHECK(label.counted());
      CHECK(label.counts.at(0) == 3001);
      CHECK(label.counts.at(2) == 3000);
      if (gathers) continue;
      CHECK(found.fields.at(2).shortest == 1);
      CHECK(found.fields.at(2).longest == 5);
      CHECK(found.fields.at(2).most == 5.0);
    }
  }
}

TEST_CASE("a record that cannot be read is named, and the others count") {
  for (const bool gathers : {true, false}) {
    const app::DataPart part = part_of_numbers(std::make_shared<const Numbers>(gathers, 4100));
    const app::DataSurvey found = app::survey(part, {.threads = 2});
    CHECK(found.records == size);
    REQUIRE(found.bad.size() == 1);
    CHECK(found.bad.front().index == 4100);
    CHECK(found.bad.front().reason == "not here");
    CHECK(found.fields.at(1).samples == size - 1);
    CHECK(contains(app::to_text(found, part), "9001 of 9001 looked at, 1 bad"));
  }
}

TEST_CASE("what makes a sample of a record is done first, and its failure is the record's") {
  app::DataPart part = part_of_numbers(std::make_shared<const Numbers>(true));
  part.make = [](headrace::Sample& sample) {
    if (sample["label"].item<std::int16_t>() == 1) throw headrace::DataError("no such label");
    sample.set_scalar<float>("half", sample["value"].data<float>()[0] / 2);
    sample.remove("value");
  };
  part.fields = {FieldSpec::fixed("half", DType::float32, {}),
                 FieldSpec::fixed("label", DType::int16, {})};
  const app::DataSurvey found = app::survey(part, {.threads = 2});
  CHECK(found.fields.at(0).most == 4500.0);
  CHECK(found.bad.size() == 3000);
  CHECK(found.bad.at(1).index == 4);
}

TEST_CASE("a survey says its fields, its classes by name and what is not finite") {
  const app::DataPart part = part_of_numbers(std::make_shared<const Numbers>(false));
  const app::DataSurvey found = app::survey(part, {.threads = 2});
  const std::string text = app::to_text(found, part);
  CHECK(contains(text, "training: numbers\n"));
  CHECK(contains(text, "value  float32  [2]              -1.5 to 9000, 1 not finite"));
  CHECK(contains(text, "row    uint8    1 to 5 elements  1 to 5"));
  CHECK(contains(text, "none      3001"));
  CHECK(contains(text, "some      3000"));
  CHECK(contains(text, "2         3000"));
  const std::vector<app::DataSurvey> surveys{found};
  const auto json = nlohmann::json::parse(app::to_json(surveys, {&part, 1}));
  const auto& field = json.at("parts").at(0).at("fields").at(1);
  CHECK(field.at("counts").at(1).at("name") == "some");
  CHECK(field.at("counts").at(1).at("samples") == 3000);
  CHECK(json.at("parts").at(0).at("fields").at(0).at("not_finite") == 1);
  CHECK(contains(app::why_no_sheet(part), "holds no picture"));
}
