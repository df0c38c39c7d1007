#pragma once

#include <headrace/apps/task/array_settings.h>
#include <headrace/apps/task/data_set.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/shape.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What arrays are called in a sample.
inline constexpr const char* array_field = "array";

/// The arrays of one section ("data.train"); `classes` are those that other data have fixed. Rows
/// that fit data.resident are kept in memory by load(), others read as they are wanted. Throws
/// what the sources throw, and ConfigError for keys that name nothing.
RecordSet open_arrays(const DataSet& set, const TaskData& data, const std::string& section,
                      const std::vector<std::string>& classes);

/// Arrays whose labels nobody asks for: .npy files in a folder of any layout or a list, one .npy
/// file (a record, or many where it has one axis more than `record`), or an HDF5 file, whose
/// dataset is that of `like`, else one that is found. Throws what the sources throw.
std::shared_ptr<const Source> open_unlabelled_arrays(const std::filesystem::path& data,
                                                     const DataSet& like, const Shape& record,
                                                     bool follow_links = false);

/// [bins, frames] of [bins, frames, 1], whose one channel comes last; other shapes as they are.
Shape without_last_channel(const Shape& record);

/// A record as it comes to the network: [values], [bins, frames] or [channels, bins, frames].
/// Throws ConfigError for records of another rank or dtype, and DataError naming a record for
/// lengths that differ without array.frames, and for [rows, columns, channels].
Shape record_shape(const Source& records, const ArraySettings& array);

/// Channels of such a record, or values of a vector: as many as the network has inputs and the
/// section `array` means and deviations.
std::int64_t channels_of(const Shape& record);

/// The dataset of that name, with a slash before it. Throws ConfigError with the nearest name where
/// `file` has none; `key` is who names it.
std::string require_dataset(const std::filesystem::path& file, const std::string& name,
                            const std::string& key);

}  // namespace headrace::inline v1::app
