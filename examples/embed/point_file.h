#pragma once

#include <headrace/engine/sample/source.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace embed {

struct Point {
  float xy[2];
  std::int64_t label;
};

// A reader: a text file with "x y label" on every line.
struct PointFile : headrace::Source {
  explicit PointFile(const std::filesystem::path& path) {
    std::ifstream file(path);
    for (Point p; file >> p.xy[0] >> p.xy[1] >> p.label;)
      points.push_back(p);
  }
  std::string name() const override { return "point file"; }
  std::int64_t size() const override { return std::ssize(points); }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("point", headrace::DType::float32, {2}),
            headrace::FieldSpec::fixed("label", headrace::DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    const Point& p = points[static_cast<std::size_t>(index)];
    std::copy_n(p.xy, 2, sample.make("point", headrace::DType::float32, {2}).data<float>());
    sample.set_scalar("label", p.label);
  }
  std::vector<Point> points;
};

}  // namespace embed
