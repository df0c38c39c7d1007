#pragma once

#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/loaders/npy_files.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

// Arrays of which record i is of class i % classes, which every value tells.
namespace headrace::test {

inline float array_value(int record, int place, int classes) {
  return static_cast<float>(10 * (record % classes)) +
         std::sin(static_cast<float>(37 * record + place));
}

/// float32 [records, values].
inline std::vector<float> array_rows(int records, int values, int classes) {
  std::vector<float> rows;
  for (int record = 0; record < records; ++record)
    for (int place = 0; place < values; ++place)
      rows.push_back(array_value(record, place, classes));
  return rows;
}

/// Spectrograms float32 [bins, frames + record % 3] in the folders left and right.
inline void write_spectrograms(const std::filesystem::path& folder, int records, int bins,
                               int frames) {
  for (int record = 0; record < records; ++record) {
    const int length = frames + record % 3;
    std::vector<float> values;
    for (int place = 0; place < bins * length; ++place)
      values.push_back(array_value(record, place, 2));
    write_array<float>(
        folder / (record % 2 == 0 ? "left" : "right") / (std::to_string(record) + ".npy"),
        std::to_string(bins) + ", " + std::to_string(length), values);
  }
}

/// A dataset with the rows of an array.
template <class T>
void add_dataset(Hdf5Writer& writer, const std::string& path, const Shape& shape,
                 const std::vector<std::type_identity_t<T>>& values) {
  writer.add(path, dtype_of<T>, shape[0], shape.row());
  writer.append(path, Tensor::of(std::span<const T>(values), shape));
}

}  // namespace headrace::test
