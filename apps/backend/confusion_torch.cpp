#include <headrace/apps/backend/confusion_torch.h>
#include <headrace/apps/backend/recipe_notes.h>

#include <utility>

namespace headrace::inline v1::app {

std::vector<std::string> class_names(const training::Course& course,
                                     const std::map<std::string, std::string>& notes) {
  std::vector<std::string> own = course.class_names();
  return own.empty() ? class_names(notes) : own;
}

Confusion named(const std::optional<models::ConfusionMatrix>& matrix,
                std::vector<std::string> names) {
  if (!matrix) return {};
  const std::int64_t classes = matrix->classes();
  Confusion confusion;
  for (std::int64_t truth = 0; truth < classes; ++truth) {
    confusion.counts.emplace_back();
    for (std::int64_t predicted = 0; predicted < classes; ++predicted)
      confusion.counts.back().push_back(matrix->at(truth, predicted));
  }
  if (names.size() == confusion.counts.size()) confusion.classes = std::move(names);
  return confusion;
}

}  // namespace headrace::inline v1::app
