#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/engine/sample/source.h>
#include <headrace/tests/loaders/image_files.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace headrace::test {

/// Files of pictures and of their masks, in memory: ragged uint8 `image` and `mask`.
class PicturePairs : public Source {
 public:
  std::string name() const override { return "pairs"; }
  std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  Schema fields() const override {
    return {FieldSpec::ragged("image", DType::uint8, 60'000),
            FieldSpec::ragged("mask", DType::uint8, 60'000)};
  }
  void read(std::int64_t index, Sample& sample) const override {
    put(sample, "image", images_[static_cast<std::size_t>(index)]);
    put(sample, "mask", masks_[static_cast<std::size_t>(index)]);
  }

 protected:
  void add(Bytes image, Bytes mask) {
    images_.push_back(std::move(image));
    masks_.push_back(std::move(mask));
  }

 private:
  static void put(Sample& sample, const char* field, const Bytes& bytes) {
    const Shape shape{static_cast<std::int64_t>(bytes.size())};
    std::memcpy(sample.make(field, DType::uint8, shape).raw(), bytes.data(), bytes.size());
  }

  std::vector<Bytes> images_;
  std::vector<Bytes> masks_;
};

}  // namespace headrace::test
