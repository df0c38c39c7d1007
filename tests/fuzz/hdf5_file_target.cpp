// A whole HDF5 file of any content: rows as the library reads them and as we read them are the
// same where both give rows, or the file is refused by name. The library may die of such files, so
// a child process reads them; only what is ours in its death is a finding.
//
// Input: which residence is held against the library's (1 byte), which file (1 byte), changes to
// it (edits.h).
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>
#include <headrace/tests/fuzz/edits.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/hdf5_file_seeds.h>
#include <headrace/tests/fuzz/mortal_child.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace headrace;

// An allocation that the library asks for in vain is its own affair.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

namespace {

constexpr std::array residences{Residence::resident, Residence::cached, Residence::pread,
                                Residence::automatic};
constexpr std::int64_t most_rows = 24;
constexpr std::size_t most_row_bytes = 1 << 16;

struct Read {
  std::string schema{};
  std::map<std::int64_t, std::string> rows{};  ///< those that could be read
};

std::string text_of(const Tensor& tensor) {
  return to_string(FieldSpec::fixed("", tensor.dtype(), tensor.shape())) +
         std::string(static_cast<const char*>(tensor.raw()), tensor.bytes());
}

std::size_t row_bytes(const Schema& schema) {
  std::size_t bytes = 0;
  for (const FieldSpec& field : schema)
    bytes += field.row_bytes();
  return bytes;
}

/// Rows of a dataset, spread over all; nothing where the file is refused.
std::optional<Read> read(const std::string& file, const std::string& dataset, Residence residence) {
  try {
    const Hdf5Table table({.file = file,
                           .fields = {{"x", dataset}},
                           .memory = 1_MiB,
                           .residence = residence,
                           .keep_index = false});
    Read read{.schema = to_string(table.fields()) + std::to_string(table.size())};
    if (row_bytes(table.fields()) > most_row_bytes) return read;
    const std::int64_t step = std::max<std::int64_t>(table.size() / most_rows, 1);
    for (std::int64_t row = 0; row < table.size(); row += step) {
      try {
        Sample sample;
        table.read(row, sample);
        read.rows[row] = text_of(sample["x"]);
      } catch (const DataError&) {
      }
    }
    return read;
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  } catch (const ResourceError&) {
  }
  return {};
}

std::vector<std::string> datasets_of(const std::string& file) {
  try {
    std::vector<std::string> paths;
    for (const Hdf5DatasetFacts& facts : hdf5_dataset_facts(file))
      paths.push_back(facts.path);
    return paths;
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
  return {};
}

void compare(const std::string& file, Residence residence) {
  static const auto kept = Hdf5Thread::shared();  // else each table would start it anew
  std::vector<std::string> datasets = datasets_of(file);
  if (datasets.size() > 2) datasets.resize(2);
  for (const std::string& dataset : datasets) {
    const auto library = read(file, dataset, Residence::library);
    const auto ours = read(file, dataset, residence);
    if (!library || !ours) continue;
    if (library->schema != ours->schema)
      test::finding("fields differ: " + library->schema + " and " + ours->schema);
    for (const auto& [row, text] : ours->rows) {
      const auto theirs = library->rows.find(row);
      if (theirs != library->rows.end() && theirs->second != text)
        test::finding("row " + std::to_string(row) + " differs from the library's");
    }
  }
}

/// Whether a sanitizer's report, or a part of it, begins in code of ours.
bool begins_in_ours(std::string_view report) {
  const std::size_t ours = report.find("headrace::");
  return ours != std::string_view::npos && ours < report.find("/libhdf5");
}

/// What we wrote wrong, and what the library wrote past memory of ours.
bool is_finding(std::string_view words) {
  if (words.find("FINDING: ") != std::string_view::npos ||
      words.find("runtime error: ") != std::string_view::npos ||
      words.find("terminate called") != std::string_view::npos)
    return true;
  const std::size_t report = words.find("ERROR: AddressSanitizer");
  if (report == std::string_view::npos) return false;
  const std::size_t memory = words.find("allocated by thread", report);
  return begins_in_ours(words.substr(report)) ||
         (memory != std::string_view::npos && begins_in_ours(words.substr(memory)));
}

/// What became of the inputs, told at the end.
struct Tally {
  std::map<test::MortalChild::End, long> ends{};
  ~Tally() {
    using End = test::MortalChild::End;
    std::fprintf(stderr,
                 "read %ld, the library died of %ld, hung with %ld, filled memory with %ld\n",
                 ends[End::done], ends[End::died], ends[End::slow], ends[End::large]);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using End = test::MortalChild::End;
  static const auto& seeds = test::hdf5_seeds();
  static Tally tally;
  static test::MortalChild child([](const std::string& file, unsigned char way) {
    compare(file, residences[way % residences.size()]);
  });
  if (size < 2) return 0;
  const auto file = test::edited(seeds[data[1] % seeds.size()], {data + 2, size - 2});
  const End end = child.run(file, data[0]);
  ++tally.ends[end];
  if (end == End::died && is_finding(child.last_words())) test::finding(child.last_words());
  return 0;
}
