#include <headrace/apps/train/go_on_torch.h>

#include <optional>
#include <utility>

namespace headrace::inline v1::app {

training::RunResult go_on(training::Trainer& trainer, training::CheckpointStore& store,
                          int patience, std::stop_token stop) {
  if (const std::optional<training::Checkpoint> last = store.load_latest()) {
    trainer.restore(*last);
    const training::Progress& progress = trainer.progress();
    if (patience > 0 && progress.early_stopping.bad >= patience) {
      return {.status = training::RunStatus::stopped_early,
              .progress = progress,
              .best_metric = progress.early_stopping.best,
              .best_epoch = progress.best_epoch};
    }
  }
  return trainer.run(std::move(stop));
}

}  // namespace headrace::inline v1::app
