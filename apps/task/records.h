#pragma once

#include <headrace/apps/task/data_set.h>
#include <headrace/apps/task/split.h>
#include <headrace/loaders/image/image_source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The pictures of a task, listed and divided; nothing of them is read.
struct TaskRecords {
  std::shared_ptr<const ImageSource> train{};
  std::shared_ptr<const ImageSource>
      validation{};                           ///< the same as `train` where it is a share of it
  std::shared_ptr<const ImageSource> test{};  ///< likewise
  std::vector<SplitParts> members{};          ///< rows of these sources, each of its own
};

/// The pictures of one section ("data.train"); `classes` are those that other data have fixed.
/// Throws what the sources throw; DataError where they have no labels, with `masks` no masks.
std::shared_ptr<const ImageSource> open_set(const DataSet& set, const TaskData& data,
                                            const std::string& section, bool masks,
                                            const std::vector<std::string>& classes = {});

/// Lists and divides. Throws what the sources throw; DataError where parts have other classes than
/// those to train on, or where a class has no record to train on.
TaskRecords open_records(const TaskData& data, bool masks, std::uint64_t seed);

/// The label of each of these rows; -1 without one.
std::vector<std::int64_t> labels_at(const ImageSource& source,
                                    const std::vector<std::int64_t>& rows);

/// How many records of each class there are among these rows; empty where there are no labels.
std::vector<std::int64_t> count_classes(const ImageSource& source,
                                        const std::vector<std::int64_t>& rows);

}  // namespace headrace::inline v1::app
