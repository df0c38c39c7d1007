#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/hdf5/detail/table/field_reader.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A field of the table: the same dataset in every file.
struct TableField {
  std::vector<Hdf5Dataset> datasets;                  ///< one a file
  std::int64_t repeat = 1;                            ///< samples that share one of its rows
  Tensor rows;                                        ///< of all files, where it is resident
  std::vector<std::unique_ptr<FieldReader>> readers;  ///< one a file, where it is not

  const Hdf5Dataset& first() const noexcept { return datasets.front(); }
  std::int64_t longest = 0;  ///< elements of a row, where ragged

  bool ragged() const noexcept { return first().ragged.has_value(); }
  bool resident() const noexcept { return readers.empty(); }
};

struct TableFile {
  std::filesystem::path path;
  OpenedFile opened;           ///< null where nothing is asked of it any more
  std::int64_t first_row = 0;  ///< sample of the table
  std::int64_t rows = 0;
};

/// A table that is open and checked; nothing of the data is in memory yet.
struct TablePlan {
  std::vector<TableFile> files;
  std::vector<TableField> fields;
  std::vector<std::string> notes;
  std::vector<Hdf5Attribute> attributes;
  std::int64_t rows = 0;
  std::size_t index_bytes = 0;  ///< of the chunks that are read one by one
};

/// Opens the files and describes the fields. Throws as Hdf5Table's constructor.
TablePlan plan_table(const Hdf5TableOptions& options);

/// Loads what is to be resident and makes readers for the rest.
void place_fields(TablePlan& plan, const Hdf5TableOptions& options);

/// The most elements of a row of a ragged field whose references have been placed. Throws DataError
/// for a length that its file cannot hold.
std::int64_t longest_row(const TablePlan& plan, const TableField& field);

/// Makes a sample's value of the reference to it, which is a row of the field's dataset of that
/// file. Throws DataError naming the dataset.
void read_ragged(const TableFile& file, const Hdf5Dataset& dataset, const std::byte* reference,
                 Sample& sample);

}  // namespace headrace::inline v1::detail
