#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/jobs/tones/data.h>

namespace headrace::inline v1::app {

LoaderJob TonesConfig::loader_job() const {
  const auto sounds = std::make_shared<const Tones>(*this, data.sounds, 0);
  const Device to = device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  return {.source = {.outline = sounds, .open = [sounds] { return sounds; }},
          .pipeline =
              [config = *this, to](std::shared_ptr<const Source> source) {
                return tones_training_pipeline(std::move(source), config, to);
              },
          .options = loader_options(prefetch(), threads),
          .runtime = runtime_options(threads)};
}

Job tones_job() {
  return {.name = "tones", .help = "the pitch of a short sound in noise", .config = [] {
            return std::make_shared<TonesConfig>();
          }};
}

}  // namespace headrace::inline v1::app
