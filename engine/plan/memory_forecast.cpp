#include <headrace/engine/plan/memory_forecast.h>

#include <numeric>

namespace headrace::inline v1 {

std::size_t MemoryForecast::total() const noexcept {
  return std::accumulate(items.begin(), items.end(), std::size_t{0},
                         [](std::size_t sum, const Item& item) { return sum + item.bytes; });
}

}  // namespace headrace::inline v1
