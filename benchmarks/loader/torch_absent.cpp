#include <headrace/benchmarks/loader/workload.h>

namespace headrace::inline v1::bench {

std::function<double()> torch_per_row(std::shared_ptr<const Hdf5Table>, std::int64_t, std::int64_t,
                                      std::int64_t) {
  return {};
}
std::function<double()> torch_bulk(std::shared_ptr<const Hdf5Table>, std::int64_t, std::int64_t) {
  return {};
}

}  // namespace headrace::inline v1::bench
