#pragma once

#include <headrace/monitor/verdict.h>

#include <optional>

namespace headrace::inline v1::monitor::detail {

/// What to change about a loader that holds its consumer back; nothing where there is nothing to
/// gain or no evidence.
std::optional<Advice> loader_advice(const Verdict& verdict, const LoaderLoad& load,
                                    const HostFacts& host);

}  // namespace headrace::inline v1::monitor::detail
