#include <headrace/apps/task/known_records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/listing/internal/listing_file.h>

#include <algorithm>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using headrace::detail::ListingReader;
using headrace::detail::ListingWriter;
using headrace::detail::UnusableListing;

constexpr const char* heading = "headrace records 1";
constexpr std::uint64_t sampled_bytes = 3 * (64 << 10);

// Never 0; 0: they cannot be read.
std::uint64_t sample_of(const std::vector<std::string>& files) {
  std::uint64_t sample = 0;
  try {
    for (const std::string& file : files)
      sample = sample * 0x9e3779b97f4a7c15 + headrace::detail::content_sample(file);
  } catch (const ResourceError&) {
    throw;
  } catch (const Error&) {
    return 0;
  }
  return std::max<std::uint64_t>(sample, 1);
}

std::uint64_t key_of(std::string_view name, std::uint64_t bytes) {
  return hash_name(name) ^ bytes * 0x9e3779b97f4a7c15;
}

std::uint64_t key_of(std::uint64_t sample, std::uint64_t bytes) {
  return sample ^ bytes * 0x9e3779b97f4a7c15;
}

char stronger(char a, char b) {
  const auto is = [&](RecordUse use) {
    return a == static_cast<char>(use) || b == static_cast<char>(use);
  };
  return static_cast<char>(is(RecordUse::learnt)  ? RecordUse::learnt
                           : is(RecordUse::chose) ? RecordUse::chose
                                                  : RecordUse::none);
}

// What a member has done with records by what they are known by.
class Memory {
 public:
  explicit Memory(const KnownRecords& known) : known_(known) {
    for (std::size_t i = 0; i < known.uses.size(); ++i) {
      const std::uint64_t sample = known.samples[i];
      const std::uint64_t bytes = known.files.bytes[i];
      auto& table = sample != 0 ? by_sample_ : by_name_;
      char& use = table[sample != 0 ? key_of(sample, bytes) : key_of(known.files.path(i), bytes)];
      use = stronger(use, known.uses[i]);
    }
  }

  struct Use {
    char use = static_cast<char>(RecordUse::none);
    bool by_name = false;
  };

  Use of(const RecordPlace& place, std::uint64_t sample) const {
    if (place.row >= 0) return {.use = of_row(place, sample)};
    const auto contents = by_sample_.find(key_of(sample, place.bytes));
    if (sample != 0 && contents != by_sample_.end()) return {.use = contents->second};
    const auto name = by_name_.find(key_of(place.name, place.bytes));
    if (name != by_name_.end()) return {.use = name->second, .by_name = true};
    return {};
  }

 private:
  char of_row(const RecordPlace& place, std::uint64_t sample) const {
    for (const KnownRecords::Shared& one : known_.shared)
      if (one.name == place.name && one.bytes == place.bytes && one.sample == sample &&
          static_cast<std::size_t>(place.row) < one.uses.size())
        return one.uses[static_cast<std::size_t>(place.row)];
    return static_cast<char>(RecordUse::none);
  }

  const KnownRecords& known_;
  std::unordered_map<std::uint64_t, char> by_sample_;
  std::unordered_map<std::uint64_t, char> by_name_;
};

}  // namespace

PlacedList placed_rows(const std::filesystem::path& file, std::string name,
                       std::vector<std::int64_t> rows) {
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
  const RecordPlace shared{
      .name = std::move(name), .files = {file.native()}, .bytes = failed ? 0 : bytes};
  const std::size_t size = rows.size();
  return {.size = size, .place = [shared, rows = std::move(rows)](std::size_t i) {
            RecordPlace place = shared;
            place.row = rows[i];
            return place;
          }};
}

PlacedList placed_list(std::shared_ptr<const LabelledSource> source, const DataSet& set,
                       std::vector<std::int64_t> rows) {
  if (source->size() == 0 || source->file(0).path.empty())
    return placed_rows(set.file, set.data, std::move(rows));
  const std::size_t size = rows.size();
  return {.size = size,
          .place = [source = std::move(source), rows = std::move(rows)](std::size_t i) {
            const RecordFile own = source->file(rows[i]);
            return RecordPlace{.name = std::filesystem::path(own.path).lexically_normal().native(),
                               .files = {std::string(own.root) + '/' + std::string(own.path)},
                               .bytes = own.bytes};
          }};
}

void KnownRecords::add(const PlacedList& records, RecordUse use) {
  const std::size_t before = uses.size();
  std::uint64_t all = 0;
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < records.size; ++i) {
    const RecordPlace place = records.place(i);
    if (place.files.empty()) continue;
    if (place.row < 0) {
      own.push_back(i);
      files.add(place.name, place.bytes);
      uses += static_cast<char>(use);
      all += std::clamp<std::uint64_t>(place.bytes, 4 << 10, sampled_bytes);  // opening costs, too
      continue;
    }
    auto one = std::ranges::find_if(shared, [&](const Shared& known) {
      return known.name == place.name && known.bytes == place.bytes;
    });
    if (one == shared.end())
      one = shared.insert(
          shared.end(),
          {.name = place.name, .bytes = place.bytes, .sample = sample_of(place.files)});
    const auto row = static_cast<std::size_t>(place.row);
    if (row >= one->uses.size()) one->uses.resize(row + 1, static_cast<char>(RecordUse::none));
    one->uses[row] = stronger(one->uses[row], static_cast<char>(use));
  }
  samples.resize(uses.size());
  const std::size_t step = all / most_sampled + 1;
  headrace::detail::in_parallel((own.size() + step - 1) / step, [&](std::size_t i) {
    samples[before + i * step] = sample_of(records.place(own[i * step]).files);
  });
}

void KnownRecords::write(const std::filesystem::path& file) const {
  try {
    ListingWriter out(file.native());
    out.text(heading);
    out.text(files.paths);
    out.values(files.path_end);
    out.values(files.bytes);
    out.values(samples);
    out.text(uses);
    out.number(shared.size());
    for (const Shared& one : shared) {
      out.text(one.name);
      out.number(one.bytes);
      out.number(one.sample);
      out.text(one.uses);
    }
    out.finish();
  } catch (const UnusableListing& reason) {
    throw ResourceError(
        fmt::format("[run] {}: cannot be written: {}", file.string(), reason.what()));
  }
}

std::optional<KnownRecords> KnownRecords::read(const std::filesystem::path& file) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) return std::nullopt;
  try {
    ListingReader in(file.native());
    if (in.text() != heading) throw UnusableListing("it is of another kind");
    KnownRecords known;
    known.files.paths = in.text();
    known.files.path_end = in.values<std::uint64_t>(known.files.paths.size());
    const std::size_t count = known.files.path_end.size();
    known.files.bytes = in.values<std::uint64_t>(count);
    known.samples = in.values<std::uint64_t>(count);
    known.uses = in.text(count);
    if (known.files.bytes.size() != count || known.samples.size() != count ||
        known.uses.size() != count || !std::ranges::is_sorted(known.files.path_end) ||
        (count > 0 && known.files.path_end.back() > known.files.paths.size()))
      throw UnusableListing("its tables differ in length");
    known.shared.resize(in.count(32));
    for (Shared& one : known.shared) {
      one.name = in.text();
      one.bytes = in.number();
      one.sample = in.number();
      one.uses = in.text();
    }
    in.finish();
    return known;
  } catch (const UnusableListing& reason) {
    throw DataError(fmt::format(
        "[evaluate] {}: must say which records the run has learnt from, but {}; remove it to judge "
        "without that",
        file.string(), reason.what()));
  }
}

SeenRecords seen_records(const std::vector<KnownRecords>& members, const PlacedList& judged) {
  std::vector<Memory> memories;
  memories.reserve(members.size());
  for (const KnownRecords& known : members)
    memories.emplace_back(known);
  // A file that records share is sampled once.
  RecordPlace first;
  if (judged.size > 0) first = judged.place(0);
  const std::uint64_t shared = first.row >= 0 ? sample_of(first.files) : 0;
  std::vector<Memory::Use> uses(judged.size);
  headrace::detail::in_parallel(judged.size, [&](std::size_t i) {
    const RecordPlace place = judged.place(i);
    if (place.files.empty()) return;
    const std::uint64_t sample = place.row >= 0 ? shared : sample_of(place.files);
    for (const Memory& memory : memories) {
      const Memory::Use own = memory.of(place, sample);
      const char both = stronger(uses[i].use, own.use);
      if (both != uses[i].use) uses[i] = {.use = both, .by_name = own.by_name};
    }
  });
  SeenRecords seen{.records = static_cast<std::int64_t>(judged.size)};
  for (const Memory::Use& one : uses) {
    const bool learnt = one.use == static_cast<char>(RecordUse::learnt);
    seen.learnt += learnt ? 1 : 0;
    seen.by_name += learnt && one.by_name ? 1 : 0;
    seen.chose += one.use == static_cast<char>(RecordUse::chose) ? 1 : 0;
  }
  return seen;
}

}  // namespace headrace::inline v1::app
