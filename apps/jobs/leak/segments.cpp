#include <headrace/apps/feed/finite_records.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/segments.h>
#include <headrace/loaders/memory/device_table.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace headrace::inline v1::app {
namespace {

std::shared_ptr<const Source> segments(const LeakFile& file, const Hdf5TableOptions& table) {
  return finite_records(std::make_shared<const LeakSegments>(
      std::make_shared<const Hdf5Table>(table), file, table.residence == Residence::resident));
}

}  // namespace

Schema leak_fields(const LeakFile& file) {
  return {FieldSpec::fixed("mel", DType::float16, {file.mels, file.frames}),
          FieldSpec::fixed("label", DType::int64, {})};
}

LeakSegments::LeakSegments(std::shared_ptr<const Source> recordings, LeakFile file, bool in_memory)
    : recordings_(std::move(recordings)), file_(std::move(file)) {
  for (std::int64_t i = 0; in_memory && i < recordings_->size(); ++i) {
    Sample sample;
    recordings_->read(i, sample);
    lent_.push_back(sample["mel"]);
  }
}

const float16_t* LeakSegments::cells_of(std::int64_t index) const {
  const Tensor& recording = lent_[static_cast<std::size_t>(index / file_.segments())];
  return recording.data<float16_t>() + index % file_.segments() * file_.mels * file_.frames;
}

void LeakSegments::copy_row(std::int64_t index, const float16_t* cells, const Rows& rows,
                            std::size_t k) const {
  const auto row = static_cast<std::int64_t>(k);
  std::memcpy(rows.row(0, row), cells,
              static_cast<std::size_t>(file_.mels * file_.frames) * sizeof(float16_t));
  const std::int64_t label = file_.labels[static_cast<std::size_t>(index / file_.segments())];
  std::memcpy(rows.row(1, row), &label, sizeof label);
}

void LeakSegments::gather_from_file(std::span<const std::int64_t> indices, const Rows& rows) const {
  Sample sample;
  std::int64_t open = -1;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::int64_t recording = indices[k] / file_.segments();
    if (recording != open) {
      sample.reset();
      recordings_->read(recording, sample);
      open = recording;
    }
    const std::int64_t place = indices[k] % file_.segments();
    copy_row(indices[k], sample["mel"].data<float16_t>() + place * file_.mels * file_.frames, rows,
             k);
  }
}

void LeakSegments::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  if (lent_.empty()) return gather_from_file(indices, rows);
  constexpr std::size_t ahead = 8;
  constexpr std::size_t line = 64;
  const auto bytes = static_cast<std::size_t>(file_.mels * file_.frames) * sizeof(float16_t);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    if (k + ahead < indices.size()) {
      const auto* next = reinterpret_cast<const char*>(cells_of(indices[k + ahead]));
      for (std::size_t at = 0; at < bytes; at += line)
        __builtin_prefetch(next + at);
    }
    copy_row(indices[k], cells_of(indices[k]), rows, k);
  }
}

std::int64_t LeakSegments::size() const {
  return recordings_->size() * file_.segments();
}

Schema LeakSegments::fields() const {
  return leak_fields(file_);
}

void LeakSegments::read(std::int64_t index, Sample& sample) const {
  const std::int64_t recording = index / file_.segments();
  recordings_->read(recording, sample);
  const Tensor whole = sample["mel"];
  const std::int64_t cells = file_.mels * file_.frames;
  float16_t* first = whole.data<float16_t>() + index % file_.segments() * cells;
  sample.set("mel",
             Tensor::borrow(first, DType::float16, {file_.mels, file_.frames}, whole.keep()));
  sample.set_scalar<std::int64_t>("label", file_.labels[static_cast<std::size_t>(recording)]);
}

std::size_t LeakSegments::working_bytes(std::int64_t index) const {
  return recordings_->working_bytes(index / file_.segments());
}

std::string LeakSegments::origin(std::int64_t index) const {
  const std::int64_t place = index % file_.segments();
  return recordings_->origin(index / file_.segments()) + " segment " +
         std::to_string(place / file_.shorts) + "." + std::to_string(place % file_.shorts);
}

namespace {

/// The table of a file's recordings, read from where it lies.
Hdf5TableOptions recordings_of(const LeakFile& file, std::size_t memory) {
  return {.file = file.path,
          .fields = {{.name = "mel", .dataset = leak_mel_dataset}},
          .memory = memory,
          .residence = Residence::file};
}

}  // namespace

PlannedSource plan_leak_segments(const LeakFile& file, std::size_t memory,
                                 const std::filesystem::path& stage) {
  const auto cells = static_cast<std::size_t>(file.segments() * file.mels * file.frames);
  Hdf5TableOptions table = recordings_of(file, memory);
  const auto outline = segments(file, table);
  table.residence = Residence::resident;
  table.stage = stage;
  return {.outline = outline,
          .resident_bytes = cells * sizeof(float16_t) * file.labels.size(),
          .open = [file, table = telling(table)] { return segments(file, table); }};
}

PlannedSource plan_leak_table(const LeakFile& file, std::size_t memory,
                              const std::filesystem::path& stage, Device device) {
  // Recordings are read once, in order: a few chunks of them are enough.
  Hdf5TableOptions table = recordings_of(file, std::min<std::size_t>(memory, 64_MiB));
  const DeviceTableOptions options{.device = device, .memory = memory};
  const auto outline = std::make_shared<const DeviceTable>(segments(file, table), options);
  table.stage = stage;
  return {.outline = outline,
          .resident_bytes = outline->host_bytes(),
          .open = [file, table = telling(table), options] {
            auto loaded = std::make_shared<DeviceTable>(segments(file, table), options);
            loaded->load();
            return loaded;
          }};
}

}  // namespace headrace::inline v1::app
