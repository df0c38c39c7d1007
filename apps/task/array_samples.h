#pragma once

#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/engine/sample/source.h>

#include <memory>

namespace headrace::inline v1::app {

/// Arrays as they come to the list `augment`: as they are, spectrograms with as many frames as
/// array.frames says, in training (`random`) a window anywhere, else in the middle. Without frames
/// to be changed whole batches are gathered where the source does.
ListedSamples array_samples(const TaskFeed& feed, const std::shared_ptr<const Source>& arrays,
                            bool random);

}  // namespace headrace::inline v1::app
