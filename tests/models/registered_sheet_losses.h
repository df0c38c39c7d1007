#pragma once

#include <headrace/tests/models/loss_harness.h>

#include <vector>

namespace headrace::test {

/// Losses of one mask of thin sheets.
void add_sheet_losses(std::vector<RegisteredLoss>& all);

}  // namespace headrace::test
