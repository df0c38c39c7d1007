#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/engine/runtime/runtime.h>

namespace headrace::inline v1 {

int usable_cores() {
  return detail::usable_cores("/");
}

}  // namespace headrace::inline v1
