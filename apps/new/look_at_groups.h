#pragma once

#include <headrace/apps/task/data_facts.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <map>
#include <memory>
#include <string>

namespace headrace::inline v1::app {

/// Parts that are given beside the records to train on, by their sections.
using GivenParts = std::map<std::string, std::shared_ptr<const LabelledSource>>;

/// What the data say of who belongs together: themselves, by a column of their list that has such a
/// name, or by their names; and whether they say what each record is for. What is found is proposed
/// where a division, or the parts that are given, can keep to it, else it is told why not.
void look_at_groups(DataFacts& facts, const LabelledSource& train, const GivenParts& given,
                    bool masks);

}  // namespace headrace::inline v1::app
