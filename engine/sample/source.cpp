#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/source.h>

namespace headrace::inline v1 {

void Source::gather(std::span<const std::int64_t>, const Rows&) const {
  throw PipelineError("[" + name() + "] gather() was called, this source reads record by record");
}

std::size_t Source::working_bytes(std::int64_t) const {
  std::size_t total = 0;
  for (const FieldSpec& field : fields())
    total += field.row_bytes();
  return total;
}

std::size_t Source::largest_working_bytes() const {
  return Source::working_bytes(0);
}

std::string Source::origin(std::int64_t index) const {
  return name() + "#" + std::to_string(index);
}

}  // namespace headrace::inline v1
