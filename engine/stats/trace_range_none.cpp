#include <headrace/engine/stats/internal/trace_range.h>

namespace headrace::inline v1::detail {

TraceRange::TraceRange(const std::string&) noexcept {}
TraceRange::~TraceRange() = default;

}  // namespace headrace::inline v1::detail
