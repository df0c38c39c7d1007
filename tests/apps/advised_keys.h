#pragma once

#include <headrace/apps/config/fields.h>

namespace headrace::test {

/// CHECKs that every key that advice names is one of these.
void check_advised_keys(const app::Fields& fields);

}  // namespace headrace::test
