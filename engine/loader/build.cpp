// The last word of a recipe: here, since a loader is made.
#include <headrace/engine/loader/detail/loader_core.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/internal/plan.h>
#include <headrace/engine/plan/pipeline.h>

namespace headrace::inline v1 {

Loader Pipeline::build(LoaderOptions options) const {
  auto plan = std::make_shared<const detail::Plan>(recipe_, options);
  return Loader(std::make_shared<detail::LoaderCore>(std::move(plan)));
}

}  // namespace headrace::inline v1
