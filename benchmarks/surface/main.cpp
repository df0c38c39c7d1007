// Does the trained network find the surface of a brain better than answers that have learnt
// nothing? How much of a predicted and a true sheet lies within two millimetres of the other one.
#include <headrace/benchmarks/harness/options.h>
#include <headrace/benchmarks/surface/sheet.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

using namespace headrace;
using namespace headrace::bench;

namespace {

constexpr double tolerance_mm = 2.0;
constexpr int thresholds = 24;

void print(const std::string& name, const Agreement& got) {
  std::printf("%-66s %8.4f %8.4f\n", name.c_str(), got.voxels, got.areas);
}

// Of a scan above or below a threshold, the best by its voxels, chosen on the scan that it is
// judged by.
void judge_thresholds(const Scan& scan, const Sheet& truth, double tolerance, bool largest) {
  const auto [least, most] = std::ranges::minmax(scan.values);
  Agreement best;
  std::string name;
  for (const bool below : {false, true})
    for (int i = 1; i < thresholds; ++i) {
      const float at = least + (most - least) * static_cast<float>(i) / thresholds;
      Sheet sheet = above(scan, at, below);
      if (largest) keep_largest(sheet);
      const Agreement got = agreement(sheet, truth, tolerance);
      if (got.voxels <= best.voxels) continue;
      best = got;
      char text[80];
      std::snprintf(text, sizeof text, "%s %.0f, the best here%s", below ? "below" : "above",
                    static_cast<double>(at), largest ? ", its largest component" : "");
      name = text;
    }
  print(name, best);
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    words.push_back(list.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

// Labels of the other half, part by part from below, as in a mirror.
void judge_mirror(const std::string& parts, const Sheet& truth, double tolerance) {
  std::vector<Sheet> sheets;
  for (const std::string& file : words_of(parts))
    sheets.push_back(sheet_of(read_scan(file)));
  print("the labels of the other half, mirrored",
        agreement(mirrored(stacked(sheets)), truth, tolerance));
}

}  // namespace

int main(int argc, char** argv) {
  Options options("surface_baselines",
                  "does the network find a surface better than answers that have learnt nothing?");
  options.add("image", "", "scan that is judged")
      .add("label", "", "its labels, 1 the surface")
      .add("prediction", "", "the network's labels of it; empty: none")
      .add("mirror", "", "labels of the other half, from below, with commas between; empty: none");
  options.parse(argc, argv);
  const Scan scan = read_scan(options.text("image"));
  const Sheet truth = sheet_of(read_scan(options.text("label")));
  const double tolerance = tolerance_mm / scan.spacing;
  std::printf("%-66s %8s %8s\n", ("within 2 mm, of " + scan.file.filename().string()).c_str(),
              "voxels", "areas");
  judge_thresholds(scan, truth, tolerance, false);
  judge_thresholds(scan, truth, tolerance, true);
  if (options.is_set("mirror")) judge_mirror(options.text("mirror"), truth, tolerance);
  if (options.is_set("prediction"))
    print("the network",
          agreement(sheet_of(read_scan(options.text("prediction"))), truth, tolerance));
}
