#pragma once

#include <headrace/loaders/hdf5/detail/helper/helper_messages.h>

namespace headrace::inline v1::detail {

/// The helper's side: answers until the other side closes the socket. Returns the exit status.
int serve_helper(const HelperDescriptors& descriptors);

}  // namespace headrace::inline v1::detail
