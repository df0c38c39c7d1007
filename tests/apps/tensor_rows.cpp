#include <headrace/tests/apps/tensor_rows.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace headrace::test {
namespace {

DType dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return DType::float32;
    case at::kLong:
      return DType::int64;
    case at::kByte:
      return DType::uint8;
    default:
      throw std::invalid_argument("[tensor_rows] takes float, long and byte");
  }
}

class TensorRows final : public Source {
 public:
  explicit TensorRows(std::vector<NamedRows> fields) : fields_(std::move(fields)) {
    for (NamedRows& field : fields_)
      field.rows = field.rows.contiguous();
  }

  std::string name() const override { return "tensors"; }
  std::int64_t size() const override { return fields_.front().rows.size(0); }
  Schema fields() const override {
    Schema schema;
    for (const auto& [field, rows] : fields_)
      schema.put(FieldSpec::fixed(field, dtype_of(rows), shape_of(rows)));
    return schema;
  }
  void read(std::int64_t index, Sample& sample) const override {
    for (const auto& [field, rows] : fields_) {
      const Tensor values = sample.make(field, dtype_of(rows), shape_of(rows));
      const at::Tensor row = rows[index];
      std::memcpy(values.raw(), row.const_data_ptr(), row.nbytes());
    }
  }

 private:
  static Shape shape_of(const at::Tensor& rows) {
    const c10::IntArrayRef sides = rows.sizes().slice(1);
    return Shape(std::span<const std::int64_t>(sides.data(), sides.size()));
  }

  std::vector<NamedRows> fields_;
};

}  // namespace

std::shared_ptr<const Source> tensor_rows(std::vector<NamedRows> fields) {
  return std::make_shared<TensorRows>(std::move(fields));
}

}  // namespace headrace::test
