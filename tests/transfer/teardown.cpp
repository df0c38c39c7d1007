// A loader that dies with the process must not call CUDA any more: the stand-in would end the
// process with status 3.
#include <chrono>
#include <thread>

#include <headrace/tests/engine/test_sources.h>

#include "cuda_stand_in.h"

namespace {

struct AtTheEnd {
  ~AtTheEnd() { headrace::test::device::forbid_calls(); }
};

}  // namespace

int main() {
  using namespace headrace;
  static Batch held;
  static Loader loader = test::work_on(test::table({.records = 40}), true)
                             .batch({.size = 8})
                             .to(Device::cuda(0))
                             .build({.runtime = Runtime({.threads = 2})});
  held = loader.next().batch;
  // What is prepared ahead is done: from here on only destructors run.
  for (std::int64_t before = -1; before != test::device::calls().copies;) {
    before = test::device::calls().copies;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  static const AtTheEnd first_to_go;
}
