#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/task/loss_settings.h>

#include <string>

namespace headrace::test {

/// The list `loss` of masks, as a configuration has it.
inline app::LossList loss_list(const std::string& yaml) {
  app::LossList list;
  app::Fields fields;
  app::describe_loss(fields, list, app::LossFor::masks);
  fields.read(app::parse_document("loss: " + yaml, "test"));
  return list;
}

}  // namespace headrace::test
