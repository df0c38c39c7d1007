#pragma once

#include <headrace/engine/sample/source.h>
#include <headrace/tests/loaders/image_files.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headrace::test {

/// The bytes of a file, as a sample holds them.
inline Tensor as_tensor(const Bytes& file) {
  return Tensor::of(std::span(reinterpret_cast<const std::uint8_t*>(file.data()), file.size()),
                    Shape{static_cast<std::int64_t>(file.size())});
}

/// Files in memory, as a field "image" of bytes.
class MemoryFiles final : public Source {
 public:
  explicit MemoryFiles(std::vector<Bytes> files) : files_(std::move(files)) {}
  std::string name() const override { return "files"; }
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  Schema fields() const override {
    Schema fields;
    fields.put(FieldSpec::ragged("image", DType::uint8, {1 << 24}));
    return fields;
  }
  void read(std::int64_t index, Sample& sample) const override {
    sample.set("image", as_tensor(files_[static_cast<std::size_t>(index)]));
  }

 private:
  std::vector<Bytes> files_;
};

}  // namespace headrace::test
