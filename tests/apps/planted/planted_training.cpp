#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/planted/planted_training.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<json> lines_of(const fs::path& file) {
  std::vector<json> lines;
  if (!fs::exists(file)) return lines;
  std::istringstream text(content_of(file));
  for (std::string line; std::getline(text, line);)
    lines.push_back(json::parse(line));
  return lines;
}

bool blames(const json& advice) {
  return advice.at("severity") != "info" && advice.at("rule") != "cpu-shared";
}

Bytes square_picture(int side, int brightness) {
  Pixels pixels(static_cast<std::size_t>(3 * side * side));
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(brightness + static_cast<int>(i * i % 31));
  return encode_png({.width = side, .height = side, .colour = PNG_COLOR_TYPE_RGB}, pixels,
                    static_cast<std::size_t>(3 * side));
}

}  // namespace

const json& Told::only(const std::string& rule) const {
  CAPTURE(text());
  const json* first = nullptr;
  for (const json& one : advice) {
    if (one.at("rule") == rule) first = first == nullptr ? &one : first;
    if (rule == "cpu-shared" || blames(one)) CHECK(one.at("rule") == rule);
  }
  REQUIRE(first != nullptr);
  CHECK(first->at("evidence").size() >= 3);
  CHECK(first->at("old") != first->at("new"));
  return *first;
}

bool Told::says(const std::string& rule) const {
  return std::ranges::any_of(advice, [&](const json& one) { return one.at("rule") == rule; });
}

void Told::check_silent() const {
  CAPTURE(text());
  CHECK(std::ranges::none_of(advice, blames));
  CHECK_FALSE(contains(err, "Z warning "));
}

std::string Told::text() const {
  std::string all;
  for (const json& one : advice)
    all += one.dump() + '\n';
  return all;
}

Told PlantedTraining::take_run(std::string err) const {
  const fs::path run = only_run();
  Told told{.advice = lines_of(run / "advice.jsonl"), .epochs = {}, .err = std::move(err)};
  for (json& row : lines_of(run / "metrics.jsonl"))
    if (row.contains("bottleneck")) told.epochs.push_back(std::move(row));
  fs::remove_all(path() / "runs");
  return told;
}

Told PlantedTraining::told_by(const std::string& program,
                              const std::vector<std::string>& words) const {
  const Finished finished = run_program(program, words, {.folder = path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return take_run(finished.err);
}

Told PlantedTraining::told(const std::vector<std::string>& settings,
                           std::vector<std::string> by) const {
  by.push_back(headrace::test::headrace_program());
  const std::vector<std::string> words = train(settings);
  by.insert(by.end(), words.begin(), words.end());
  return told_by(by.front(), {by.begin() + 1, by.end()});
}

RowTraining::RowTraining()
    : PlantedTraining(
          "kind: classification\nseed: 7\ndevice: cpu\ndata:\n"
          "  train: {source: npy, file: x.npy, labels: y.npy}\narray: {normalise: none}\n"
          "model: {name: mlp}\ntraining: {batch: 8, epochs: 3}\nthreads: {loader: 1, torch: 1}\n") {
  constexpr int records = 400;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < records; ++i)
    labels.push_back(i % 2);
  write_array<float>(path() / "x.npy", "400, 6", array_rows(records, 6, 2));
  write_array<std::int32_t>(path() / "y.npy", "400,", labels);
}

PictureTraining::PictureTraining(const Pictures& pictures)
    : PlantedTraining(
          "kind: classification\nseed: 7\ndevice: cpu\ndata:\n  train: {folder: pictures}\n"
          "  prefetch: 2\n  listings: \"\"\n  duplicates: allow\nimage: {size: 32}\nmodel: {name: "
          "resnet18, width: "
          "0.125}\n"
          "training: {batch: 4, epochs: 3}\nthreads: {loader: 4, torch: 1}\n") {
  for (const bool bright : {false, true}) {
    const fs::path folder = path() / "pictures" / (bright ? "bright" : "dark");
    const auto write = [&](const std::string& name, int count, int side) {
      if (count == 0) return;
      const Bytes png = square_picture(side, bright ? 200 : 20);
      for (int i = 0; i < count / 2; ++i)
        write_bytes(folder / (name + std::to_string(i) + ".png"), png);
    };
    write("small", pictures.small, 48);
    write("large", pictures.large, pictures.large_side);
  }
}

}  // namespace headrace::test
