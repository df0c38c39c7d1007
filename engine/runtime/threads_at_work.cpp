#include <headrace/engine/runtime/internal/runtime_core.h>
#include <headrace/engine/runtime/threads_at_work.h>

namespace headrace::inline v1 {

std::vector<HangReport::InStage> threads_at_work(const Runtime& runtime) {
  return detail::RuntimeCore::share(runtime)->watch_list().stages();
}

}  // namespace headrace::inline v1
