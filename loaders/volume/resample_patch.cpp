#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/kernel.h>
#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/resample_patch.h>

#include <cstring>
#include <string>

namespace headrace::inline v1 {
namespace {

using detail::PatchMap;
using detail::ResampleTask;
using detail::Resampling;

constexpr detail::Kernel kernel{"resample patches", "headrace_resample_patches"};
constexpr const char* resample_patch_name = "resample patch";

const FieldSpec& box_of(const Schema& in, const std::string& name) {
  const FieldSpec& field = in.at(name, resample_patch_name);
  if (field.kind != FieldSpec::Kind::ragged || !detail::is_resampled(field.dtype)) {
    throw ConfigError("[resample patch] " + name +
                      " must be boxes of uint8, int16, uint16 or float32 voxels, ragged, got " +
                      to_string(field) + "; let VolumePatches be the source");
  }
  return field;
}

/// What both forms share; memory is the caller's.
ResampleTask task_of(const ResamplePatch& op, std::int64_t samples, std::int64_t channels) {
  ResampleTask task{.samples = samples, .channels = channels};
  for (std::size_t axis = 0; axis < 3; ++axis)
    task.patch[axis] = static_cast<std::int32_t>(op.patch[axis]);
  return task;
}

Resampling of_labels(LabelSampling labels) {
  return labels == LabelSampling::nearest ? Resampling::nearest : Resampling::one_hot;
}

Shape image_shape(const ResamplePatch& op, std::int64_t channels) {
  return {channels, op.patch[0], op.patch[1], op.patch[2]};
}

Shape label_shape(const ResamplePatch& op) {
  return {op.patch[0], op.patch[1], op.patch[2]};
}

std::int64_t voxels_in(const PatchMap& map) {
  std::int64_t voxels = 1;
  for (std::int32_t extent : map.box_shape) {
    if (extent < 1) throw DataError("a patch's box must have voxels, got none along an axis");
    voxels *= extent;
  }
  return voxels;
}

void require_box(const Tensor& box, std::int64_t voxels) {
  if (box.shape().elements() < voxels + detail::box_slack) {
    throw DataError("a patch's box must have the " + std::to_string(voxels) +
                    " voxels of its map and " + std::to_string(detail::box_slack) + " more, got " +
                    std::to_string(box.shape().elements()));
  }
}

void require_patch(const ResamplePatch& op, const PatchMap& map) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (map.patch[axis] != op.patch[axis]) {
      throw DataError("a patch must have the extents for which it was drawn, " +
                      std::to_string(map.patch[axis]) + " along an axis, got " +
                      std::to_string(op.patch[axis]) + "; take VolumePatches::resample()");
    }
  }
}

void require_moves(const Tensor& moves, const PatchMap& map) {
  std::int64_t values = 3;
  for (std::int32_t knots : map.knots)
    values *= knots;
  if (map.knots[0] != 0 &&
      (map.knots[2] > detail::most_knots || moves.shape().elements() < values)) {
    throw DataError("a patch's displacement must have the " + std::to_string(values) +
                    " values of its map, got " + std::to_string(moves.shape().elements()));
  }
}

void run(const ResampleTask& task) {
  detail::resample_rows(task, 0, task.samples * task.patch[0] * task.patch[1]);
}

}  // namespace

Schema ResamplePatch::schema(const Schema& in) const {
  for (std::int64_t extent : patch) {
    if (extent < 1 || extent > 4096) {
      throw ConfigError(
          "[resample patch] a patch must have 1 to 4096 voxels along each axis, got " +
          std::to_string(extent));
    }
  }
  box_of(in, image);
  in.at(PatchFields::map, resample_patch_name);
  in.at(PatchFields::moves, resample_patch_name);
  const std::int64_t channels = in.at(PatchFields::values, resample_patch_name).shape[0];
  Schema out = in;
  out.put(FieldSpec::fixed(image, DType::float32, image_shape(*this, channels)));
  if (!label.empty()) out.put(FieldSpec::fixed(label, box_of(in, label).dtype, label_shape(*this)));
  for (const char* field : {PatchFields::map, PatchFields::moves, PatchFields::values})
    out.remove(field);
  return out;
}

void ResamplePatch::operator()(Sample& sample) const {
  const Tensor boxes = sample[image];
  const Tensor moves = sample[PatchFields::moves];
  const Tensor values = sample[PatchFields::values];
  const Tensor held = sample[PatchFields::map];
  PatchMap map{};
  std::memcpy(&map, held.raw(), sizeof map);
  const std::int64_t channels = values.shape()[0];
  require_patch(*this, map);
  const std::int64_t voxels = voxels_in(map);
  require_box(boxes, voxels * channels);
  require_moves(moves, map);
  const std::int64_t zero = 0;
  ResampleTask task = task_of(*this, 1, channels);
  task.maps = &map;
  task.box_offsets = &zero;
  task.displacement_offsets = &zero;
  task.displacements = moves.data<float>();
  task.boxes = static_cast<const std::byte*>(boxes.raw());
  task.stored = boxes.dtype();
  task.values = values.data<float>();
  task.to = sample.make(image, DType::float32, image_shape(*this, channels)).raw();
  run(task);
  if (!label.empty()) {
    const Tensor stored = sample[label];
    require_box(stored, voxels);
    task.channels = 1;
    task.boxes = static_cast<const std::byte*>(stored.raw());
    task.stored = stored.dtype();
    task.how = of_labels(labels);
    task.to = sample.make(label, stored.dtype(), label_shape(*this)).raw();
    run(task);
  }
  for (const char* field : {PatchFields::map, PatchFields::moves, PatchFields::values})
    sample.remove(field);
}

void ResamplePatches::operator()(Batch& batch, Stream stream) const {
  const Tensor boxes = batch[each.image];
  const Tensor moves = batch[PatchFields::moves];
  const Tensor values = batch[PatchFields::values];
  const Tensor maps = batch[PatchFields::map];
  if (maps.shape().rank() != 2 || maps.shape()[1] != static_cast<std::int64_t>(sizeof(PatchMap)))
    throw PipelineError("[resample patches] patch_map must be as VolumePatches makes it, got " +
                        to_string(maps.shape()));
  ResampleTask task = task_of(each, batch.size(), values.shape()[1]);
  const auto start = [&](const Tensor& from, const std::string& offsets) {
    const Tensor begins = batch[offsets];
    task.boxes = static_cast<const std::byte*>(from.raw());
    task.box_offsets = begins.data<std::int64_t>();
    task.stored = from.dtype();
    if (from.device().is_cuda()) {
      detail::launch(kernel, &task, from.device(), stream);
    } else {
      run(task);
    }
  };
  const Tensor move_offsets = batch[std::string(PatchFields::moves) + "_offsets"];
  task.maps = static_cast<const PatchMap*>(static_cast<const void*>(maps.raw()));
  task.displacements = moves.data<float>();
  task.displacement_offsets = move_offsets.data<std::int64_t>();
  task.values = values.data<float>();
  task.to =
      batch.make(each.image, DType::float32, image_shape(each, task.channels).batched(batch.size()))
          .raw();
  start(boxes, each.image + "_offsets");
  if (each.label.empty()) return;
  const Tensor labels = batch[each.label];
  task.channels = 1;
  task.how = of_labels(each.labels);
  task.to = batch.make(each.label, labels.dtype(), label_shape(each).batched(batch.size())).raw();
  start(labels, each.label + "_offsets");
}

}  // namespace headrace::inline v1
