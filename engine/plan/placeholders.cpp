#include <headrace/engine/order/order.h>
#include <headrace/engine/plan/internal/placeholders.h>

#include <cstring>
#include <utility>

namespace headrace::inline v1::detail {

namespace {

// Zeros, but for a row of flags or of one class among several, of which one must be set. Its lowest
// byte is its first.
void fill(const FieldSpec& field, Tensor& values) {
  std::memset(values.raw(), 0, values.bytes());
  const bool one_of_several = field.kind == FieldSpec::Kind::fixed && field.shape.rank() == 1 &&
                              (is_integer(field.dtype) || field.dtype == DType::boolean) &&
                              values.bytes() > 0;
  if (one_of_several) *static_cast<std::byte*>(values.raw()) = std::byte{1};
}

class PlaceholderSource final : public Source {
 public:
  PlaceholderSource(Schema fields, std::int64_t samples)
      : fields_(std::move(fields)), samples_(samples) {}

  std::string name() const override { return "placeholders"; }
  std::int64_t size() const override { return samples_; }
  Schema fields() const override { return fields_; }
  void read(std::int64_t, Sample& sample) const override {
    for (const FieldSpec& field : fields_)
      fill(field, sample.make(field.name, field.dtype, field.shape));
  }

 private:
  Schema fields_;
  std::int64_t samples_;
};

// Those that stay on the host are for work on a device that its step alone can do.
Schema fields_of_batches(const Recipe& recipe) {
  Schema fields = recipe.source->fields();
  for (const SampleStep& step : recipe.sample_steps)
    if (step.schema) fields = step.schema(fields);
  Schema delivered;
  for (const FieldSpec& field : fields)
    if (!field.host_only) delivered.put(field);
  return delivered;
}

}  // namespace

void replace_by_placeholders(Recipe& recipe, std::int64_t samples) {
  recipe.source = std::make_shared<const PlaceholderSource>(fields_of_batches(recipe), samples);
  recipe.bind_order = [](std::int64_t records) { return Sequential{}.bind(records); };
  recipe.sample_steps.clear();
}

}  // namespace headrace::inline v1::detail
