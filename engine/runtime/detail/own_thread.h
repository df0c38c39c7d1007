#pragma once

namespace headrace::inline v1::detail {

/// The runtime that a thread was made for; null on everybody else's threads.
inline thread_local const void* owner_of_this_thread = nullptr;

}  // namespace headrace::inline v1::detail
