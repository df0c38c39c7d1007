#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/glaucoma/data.h>

#include <string>
#include <utility>

namespace headrace::test {

void write_glaucoma_data(const std::filesystem::path& file, std::int64_t train_rows,
                         std::int64_t test_rows) {
  const std::int64_t rows = train_rows + test_rows;
  Tensor labels = Tensor::zeros(DType::uint8, {rows, 5});
  Tensor split = Tensor::zeros(DType::uint8, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    labels.data<std::uint8_t>()[i * 5 + i % 5] = 1;
    split.data<std::uint8_t>()[i] = i < train_rows ? 0 : 1;
  }
  write_glaucoma_data(file, labels, split);
}

void write_glaucoma_data(const std::filesystem::path& file, const Tensor& labels,
                         const Tensor& split, const Tensor& patients) {
  constexpr std::int64_t side = 16;
  const std::int64_t rows = labels.shape()[0];
  Tensor maps = Tensor::empty(DType::uint8, {rows, side, side});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < side * side; ++k) {
      maps.data<std::uint8_t>()[i * side * side + k] =
          static_cast<std::uint8_t>(i % 5 * 50 + (i * 7 + k * 13) % 40);
    }
  }
  Hdf5Writer writer(file);
  for (const char* name : {"rnfl_input", "cup_disc_input", "rim_input", "juxta_input",
                           "sheath_input", "macular_input"}) {
    const std::string path = std::string("/features/") + name;
    writer.add(path, DType::uint8, rows, {side, side});
    writer.append(path, maps);
  }
  writer.add("/labels", labels.dtype(), rows, labels.shape().row());
  writer.append("/labels", labels);
  for (const auto& [name, values] : {std::pair("/split", split), std::pair("/patients", patients)})
    if (values.defined()) {
      writer.add(name, values.dtype(), rows, {});
      writer.append(name, values);
    }
  writer.finish();
}

}  // namespace headrace::test
