#include <headrace/apps/figures/results.h>
#include <headrace/apps/view/tensorboard_log.h>

#include <cmath>
#include <map>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_classes = 64;  // of a picture that each epoch draws
constexpr int side = 560;                 // of a confusion matrix, in pixels

std::vector<std::byte> confusion_png(const MatrixChart& chart) {
  Canvas canvas(side, side);
  draw(canvas, {.left = 8.0, .top = 8.0, .width = side - 16.0, .height = side - 16.0}, chart);
  return canvas.png();
}

bool is_of_the_loss(const std::string& name) {
  return name == "loss" || name.starts_with("loss_");
}

}  // namespace

TensorBoardLog::TensorBoardLog(std::filesystem::path folder, Warn warn)
    : folder_(std::move(folder)), warn_(std::move(warn)) {}

void TensorBoardLog::begin_member(const std::string& name, std::int64_t steps_before) {
  if (name != member_) {
    file_.reset();
    newest_ = 0;
  }
  member_ = name;
  steps_before_ = steps_before;
}

void TensorBoardLog::begin_step(std::int64_t step) {
  const std::int64_t now = steps_before_ + step;
  if (now <= newest_) file_.reset();
  newest_ = now;
  file_from(now);
}

// The file at hand, or one that begins with this step.
monitor::EventFile& TensorBoardLog::file_from(std::int64_t step) {
  if (!file_)
    file_.emplace(folder_ / member_, monitor::EventFileOptions{.first_step = step, .warn = warn_});
  return *file_;
}

void TensorBoardLog::add(const StepRow& row) {
  const std::int64_t step = steps_before_ + row.step;
  monitor::EventFile& file = file_from(step);
  for (const auto& [name, value] : row.figures)
    file.scalar("train/" + name, step, value);
  file.scalar("train/learning_rate", step, row.learning_rate);
  if (std::isfinite(row.samples_per_s))
    file.scalar("train/samples_per_second", step, row.samples_per_s);
  file.flush();
}

void TensorBoardLog::add(const EpochFacts& epoch) {
  const std::int64_t step = steps_before_ + epoch.step;
  monitor::EventFile& file = file_from(step);
  for (const auto& [name, value] : epoch.train)
    if (!is_of_the_loss(name)) file.scalar("train/" + name, step, value);
  for (const auto& [name, value] : epoch.validation)
    file.scalar("validation/" + name, step, value);
  const Confusion& confusion = epoch.confusion;
  if (!confusion.counts.empty() && confusion.counts.size() <= most_classes)
    file.image("validation/confusion", step,
               confusion_png({.title = "confusion matrix, validation",
                              .counts = confusion.counts,
                              .names = confusion.classes}));
  file.flush();
}

void write_test_events(const std::filesystem::path& folder,
                       const std::vector<FoldOutcome>& outcomes, const TestReview& review,
                       const TensorBoardLog::Warn& warn) {
  const MatrixChart matrix = confusion_of_test(outcomes, review.votes);
  std::map<std::string, double> figures;
  if (!review.votes.empty())
    figures = review.votes.front().test;
  else if (outcomes.size() == 1)
    figures = outcomes.front().test;
  if (figures.empty() && matrix.counts.empty() && review.gallery.records == 0) return;
  monitor::EventFile file(folder / "test", {.warn = warn});
  for (const auto& [name, value] : figures)
    file.scalar("test/" + name, 0, value);
  if (!matrix.counts.empty()) file.image("test/confusion", 0, confusion_png(matrix));
  if (review.gallery.records == 0) return;
  file.image("test/some", 0, some_png(review.gallery));
  file.image("test/worst_mistakes", 0, worst_png(review.gallery));
}

}  // namespace headrace::inline v1::app
