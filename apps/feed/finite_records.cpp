#include <headrace/apps/feed/finite_records.h>
#include <headrace/apps/feed/wrapped_source.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr const char* rule =
    "must hold finite numbers, got NaN or infinity; repair or leave it out";

bool is_floating(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 ||
         dtype == DType::float64;
}

// NaN and the infinities have all bits of the exponent, and they alone.
template <class Bits>
bool any_with(Bits exponent, const std::byte* first, std::size_t bytes) {
  bool any = false;
  for (std::size_t at = 0; at < bytes; at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, first + at, sizeof bits);
    any |= (bits & exponent) == exponent;
  }
  return any;
}

bool all_finite(DType dtype, const void* values, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(values);
  switch (dtype) {
    case DType::float16:
      return !any_with<std::uint16_t>(0x7c00, first, bytes);
    case DType::bfloat16:
      return !any_with<std::uint16_t>(0x7f80, first, bytes);
    case DType::float32:
      return !any_with<std::uint32_t>(0x7f800000, first, bytes);
    case DType::float64:
      return !any_with<std::uint64_t>(0x7ff0000000000000, first, bytes);
    default:
      return true;
  }
}

class FiniteRecords final : public WrappedSource {
 public:
  explicit FiniteRecords(std::shared_ptr<const Source> source)
      : WrappedSource(std::move(source)), fields_(this->source().fields()) {}

  void read(std::int64_t index, Sample& sample) const override {
    source().read(index, sample);
    if (!is_finite(sample)) throw DataError(rule);
  }
  // Of others read() says what is wrong.
  bool read_now(std::int64_t index, Sample& sample) const override {
    return source().read_now(index, sample) && is_finite(sample);
  }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    source().gather(indices, rows);
    for (std::size_t field = 0; field < rows.fields(); ++field) {
      const FieldSpec& spec = fields_[field];
      for (std::size_t k = 0; is_floating(spec.dtype) && k < indices.size(); ++k)
        if (!all_finite(spec.dtype, rows.row(field, static_cast<std::int64_t>(k)),
                        spec.row_bytes()))
          throw DataError(origin(indices[k]) + ": " + rule);
    }
  }

  bool are_all_finite() const {
    constexpr std::int64_t at_once = 4096;
    std::atomic<bool> finite{true};
    headrace::detail::in_parallel(
        static_cast<std::size_t>((size() + at_once - 1) / at_once), [&](std::size_t block) {
          Sample sample;
          const std::int64_t first = static_cast<std::int64_t>(block) * at_once;
          for (std::int64_t i = first; finite && i < std::min(size(), first + at_once); ++i) {
            sample.reset();
            source().read(i, sample);
            if (!is_finite(sample)) finite = false;
          }
        });
    return finite;
  }

 private:
  bool is_finite(const Sample& sample) const {
    return std::ranges::all_of(fields_, [&](const FieldSpec& field) {
      if (!is_floating(field.dtype)) return true;
      const Tensor& values = sample[field.name];
      return all_finite(values.dtype(), values.raw(), values.bytes());
    });
  }

  Schema fields_;
};

}  // namespace

std::shared_ptr<const Source> finite_records(std::shared_ptr<const Source> source) {
  const Schema fields = source->fields();
  if (std::ranges::none_of(fields, [](const FieldSpec& field) { return is_floating(field.dtype); }))
    return source;
  auto finite = std::make_shared<const FiniteRecords>(source);
  if (!source->blocking() && finite->are_all_finite()) return source;
  return finite;
}

}  // namespace headrace::inline v1::app
