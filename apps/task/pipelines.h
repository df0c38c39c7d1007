#pragma once

#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/task/task_settings.h>
#include <headrace/augment/normalize.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Says how large a picture is before it is decoded: from the bytes of the file in "image" the
/// field "picture_size", int64 [2], height and width as a viewer shows it (EXIF orientation
/// applied). Throws DataError for what is no picture.
struct PictureSize {
  static constexpr const char* field = "picture_size";

  std::string name() const { return "picture_size"; }
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample) const;
};

/// What the pipelines of a task have in common.
struct TaskFeed {
  TaskSettings task{};
  PlantedDelays delay{};
  std::uint64_t seed = 0;
  std::int64_t classes = 0;
  bool whole = false;              ///< an evaluation looks at whole pictures, not at their middle
  bool arrays = false;             ///< records are arrays and no pictures
  std::optional<double> middle{};  ///< of arrays: what padded frames and masked cells hold
  MaskFeed mask{};
  Normalize normalize{};  ///< of pictures, last of all; arrays are normalised by the course
};

/// Samples decoded (arrays: cut to frames) and through the list augment, in batches, whose order is
/// still to be said; not normalised.
Pipeline augmented_pipeline(std::shared_ptr<const Source> records, const TaskFeed& feed,
                            const Batching& batching, Device device);

/// Records to train on: decoded, prepared, the list augment, batches in a fresh order every epoch,
/// normalised on the device. Batches: `image`, or `array` [N, ...] as the records have it, and with
/// classes `label` int64 [N], with masks `mask` uint8 [N, H, W]. `labels` are those of `records`,
/// for a balanced sampler.
Pipeline training_pipeline(std::shared_ptr<const Source> records,
                           const std::vector<std::int64_t>& labels, const TaskFeed& feed,
                           std::int64_t batch, Device device);

/// The same records in order and without the list: the middle of each picture, with masks all of
/// it, and the size that it is kept in (PictureSize); prepared as in training.
Pipeline evaluation_pipeline(std::shared_ptr<const Source> records, const TaskFeed& feed,
                             std::int64_t batch, Device device);

}  // namespace headrace::inline v1::app
