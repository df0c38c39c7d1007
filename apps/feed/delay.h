#pragma once

#include <headrace/apps/config/units.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/sample/source.h>

#include <memory>
#include <string>

namespace headrace::inline v1::app {

/// Slowness planted into the stage "decode": each sample takes at least `time` longer.
struct DecodeDelay {
  static constexpr bool decodes = true;
  Duration time;
  std::string name() const { return "decode delay"; }
  void operator()(Sample& sample) const;
};

/// A source whose reading takes `delay.read` longer for every record, or for one in
/// `delay.read_every`, on the I/O threads; with no delay the source itself.
std::shared_ptr<const Source> slow_read(std::shared_ptr<const Source> source,
                                        const PlantedDelays& delay);

/// The pipeline with a stage "decode", before batch(), whose samples take `delay` longer each; with
/// no delay as it is.
Pipeline slow_decode(Pipeline pipeline, Duration delay);

/// The same of the stage "augment".
Pipeline slow_augment(Pipeline pipeline, Duration delay);

/// The same of the stage "transfer", behind batch(): each batch.
Pipeline slow_transfer(Pipeline pipeline, Duration delay);

}  // namespace headrace::inline v1::app
