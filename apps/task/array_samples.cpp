#include <headrace/apps/feed/delay.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/array_samples.h>
#include <headrace/augment/spectrogram/frame_window.h>

#include <utility>

namespace headrace::inline v1::app {

ListedSamples array_samples(const TaskFeed& feed, const std::shared_ptr<const Source>& arrays,
                            bool random) {
  const ArraySettings& array = feed.task.array;
  AugmentContext context{.fields = arrays->fields(),
                         .mixes = array_field,
                         .mean = feed.middle,
                         .gathers = arrays->gathers(),
                         .keeps_shapes = true};
  Pipeline pipeline = slow_decode(Pipeline::from(arrays), feed.delay.decode);
  const FieldSpec field = context.fields.at(array_field);
  const bool changes = array.frames && (field.kind != FieldSpec::Kind::fixed ||
                                        field.shape[field.shape.rank() - 1] != *array.frames);
  if (changes) {
    const FrameWindow window{.frames = *array.frames,
                             .random = random,
                             .fill = feed.middle.value_or(0.0),
                             .field = array_field};
    context.fields = window.schema(context.fields);
    context.gathers = false;
    pipeline = std::move(pipeline).then(window);
  }
  return {
      .pipeline = std::move(pipeline), .context = std::move(context), .list = feed.task.augment};
}

}  // namespace headrace::inline v1::app
