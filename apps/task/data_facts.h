#pragma once

#include <headrace/apps/task/find_data.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What was found out about records that are arrays.
struct ArrayFacts {
  FieldSpec record{};       ///< the largest, padded where lengths differ
  std::int64_t frames = 0;  ///< median length of the last axis, where lengths differ
  std::uint64_t bytes = 0;  ///< of all records
};

/// What was found out about data and machine before a configuration is proposed.
struct DataFacts {
  FoundData found{};
  std::int64_t records = 0;  ///< to train on, before some are set apart
  std::int64_t looked_at = 0;
  std::vector<std::string> bad{};         ///< of those looked at: file and why
  std::int64_t judged_looked_at = 0;      ///< of a validation and a test of their own
  std::vector<std::string> judged_bad{};  ///< of these
  std::int64_t dim = 0;  ///< pictures of 16 bits, of which no value has more than 12
  std::vector<std::pair<std::string, std::int64_t>> classes{};  ///< with their records
  std::vector<std::string> of_masks{};  ///< what is to be said of masks, a sentence each
  MaskSettings mask{};                  ///< what the values of masks seem to mean
  bool several_labels = false;          ///< whether a record may have several classes
  bool groups = false;                  ///< whether records come in groups
  bool splits = false;                  ///< whether every record says what it is for
  bool validates = true;                ///< unless no record that says so is for the validation
  bool follow_links = false;            ///< as it was asked for
  std::string split_group{};  ///< for data.split.group, as names or a column suggest; empty: none
  std::string of_groups{};    ///< what these show of groups; empty: nothing
  int width = 0;              ///< median, pixels
  int height = 0;
  std::optional<ArrayFacts> array{};  ///< records are no pictures
  int cores = 1;
  std::uint64_t memory = 0;  ///< bytes that the process may take
  bool gpu = false;

  bool vectors() const { return array && array->record.shape.rank() == 1; }
  /// Of `records` what is left when a validation and a test are set apart.
  std::int64_t records_to_train() const;
};

/// A reason for each key that was chosen, by its path.
using Reasons = std::map<std::string, std::string>;

/// The side of the square that pictures of that size become: of the usual ones the largest that is
/// not above the median of their shorter sides, at most `most`; the smallest where all are.
int side_for(const DataFacts& facts, int most);

/// Largest of the classes by the smallest; 1 without classes.
double imbalance_of(const DataFacts& facts);

/// "3 classes, 120 records: cat 80, dog 30, owl 10": sentences for a person about data and machine,
/// a line each.
std::vector<std::string> describe(const DataFacts& facts);

}  // namespace headrace::inline v1::app
