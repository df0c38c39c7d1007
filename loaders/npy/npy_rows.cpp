#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/npy/npy_rows.h>

#include <utility>

namespace headrace::inline v1 {

NpyRows::NpyRows(const std::filesystem::path& file, std::string field)
    : file_(file), path_(detail::printable(file.native())), field_(std::move(field)) {
  if (file_.shape().elements() > 0) return;
  throw ConfigError("[npy rows] " + path_ + ": must hold at least one row, got shape " +
                    to_string(file_.shape()));
}

std::string NpyRows::name() const {
  return "npy rows " + path_;
}

std::int64_t NpyRows::size() const {
  return file_.shape()[0];
}

Schema NpyRows::fields() const {
  return {FieldSpec::fixed(field_, file_.dtype(), file_.shape().row())};
}

void NpyRows::read(std::int64_t index, Sample& sample) const {
  file_.read_rows(index, 1, sample.make(field_, file_.dtype(), file_.shape().row()).raw());
}

void NpyRows::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  for (std::size_t k = 0; k < indices.size(); ++k)
    file_.read_rows(indices[k], 1, rows.row(0, static_cast<std::int64_t>(k)));
}

std::string NpyRows::origin(std::int64_t index) const {
  return path_ + "[" + std::to_string(index) + "]";
}

}  // namespace headrace::inline v1
