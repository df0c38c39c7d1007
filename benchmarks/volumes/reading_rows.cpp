#include <headrace/benchmarks/cold/page_cache.h>
#include <headrace/benchmarks/volumes/codec_alone.h>
#include <headrace/benchmarks/volumes/reading.h>
#include <headrace/benchmarks/volumes/reading_rows.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/volume/open_volume.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::bench {

namespace {

std::string told_of_reading(const BlockCacheStats& stats) {
  return fmt::format("decoded {:.2f} bytes a byte delivered, {:.1f} % of pins hit",
                     stats.read_amplification(), 100 * stats.hit_rate());
}

// Of every format, in turn.
void report_patches(const Work& work, const std::vector<StoredVolume>& formats, bool cold,
                    double share, std::int64_t patches, int repeats, Report& report) {
  std::vector<std::shared_ptr<PatchReading>> readings;
  std::vector<Contender> contenders;
  for (const auto& format : formats) {
    const auto reading = std::make_shared<PatchReading>(format, work, share);
    readings.push_back(reading);
    contenders.push_back({format.name, [=] { return reading->read(patches); },
                          cold ? std::function<void()>([=] { reading->make_cold(); }) : nullptr});
  }
  const std::string section =
      fmt::format("reading {}, cache of {} % of the data", cold ? "cold" : "warm", 100 * share);
  std::vector<Row> rows;
  const auto rates = compare(contenders, repeats);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rows.push_back({.section = section,
                    .contender = rates[i].name,
                    .unit = "patches/s",
                    .median = rates[i].median,
                    .low = rates[i].low,
                    .high = rates[i].high,
                    .repeats = repeats,
                    .note = told_of_reading(readings[i]->stats())});
  }
  report.add(std::move(rows));
}

// Decoded MB, so that a rate is one of decoding whatever is asked for again.
double decoded_mb(PatchReading& reading, std::int64_t patches) {
  const auto before = reading.stats().bytes_decoded;
  reading.read(patches);
  return static_cast<double>(reading.stats().bytes_decoded - before) / 1e6;
}

// None where there is no codec, or not its library.
std::shared_ptr<const PackedBlocks> blocks_of(const StoredVolume& format, const Work& work) {
  if (format.codec.empty()) return nullptr;
  if (format.codec == "blosc2") return blosc2_blocks(format.path);
  return pack_blocks(voxels_of_file(work.folder / "large.nii"), format.codec);
}

void report_codec(const Work& work, const StoredVolume& format, std::int64_t patches, int repeats,
                  Report& report) {
  const std::string section = format.name + ": cold, beside the codec alone";
  const auto volume = open_volume(format.path);
  const double whole = static_cast<double>(block_bytes_of(*volume)) / 1e6;
  const auto files = files_of(format.path);
  const auto cold = [files] { evict(files); };
  std::vector<Contender> contenders;
  if (const auto blocks = blocks_of(format, work)) {
    contenders.push_back(
        {"codec alone (limit)", [=, &work] { return decode_all(*blocks, work.threads) / 1e6; }});
    contenders.push_back({"files, then codec into fresh memory",
                          [=, &work] {
                            read_files(files, work.threads);
                            const HugePages memory(blocks->count() * blocks->largest());
                            return decode_all(*blocks, work.threads, memory.data()) / 1e6;
                          },
                          cold});
  } else if (!format.codec.empty()) {
    report.missing(section, "codec alone (limit)", "a build without Blosc2's library");
  }
  contenders.push_back({"files alone, cold (limit)",
                        [=, &work] {
                          read_files(files, work.threads);
                          return whole;
                        },
                        cold});
  for (const double share : {1.0, 0.25}) {
    const auto reading = std::make_shared<PatchReading>(format, work, share);
    contenders.push_back({fmt::format("headrace, cache of {} %", 100 * share),
                          [=] { return decoded_mb(*reading, patches); },
                          [=] { reading->make_cold(); }});
  }
  const auto filling = std::make_shared<PatchReading>(format, work, 1.0);
  contenders.push_back({"headrace, every block, nothing copied out",
                        [=] {
                          filling->fill();
                          return static_cast<double>(filling->stats().bytes_decoded) / 1e6;
                        },
                        [=] { filling->make_cold(); }});
  std::vector<std::optional<Goal>> goals(contenders.size());
  const bool judged = format.name == "b2nd" || format.name == "Zarr v3 shards";
  if (judged && contenders.size() == 6) goals[3] = at_least(0.80);
  report.add(section, "MB/s decoded", compare(contenders, repeats), contenders[0].name, goals);
}

}  // namespace

void report_reading(const Work& work, std::int64_t patches, int repeats, Report& report) {
  const auto formats = stored_volumes(work);
  for (const double share : {1.0, 0.25}) {
    for (const bool cold : {false, true})
      report_patches(work, formats, cold, share, patches, repeats, report);
  }
  for (const auto& format : formats)
    report_codec(work, format, patches, repeats, report);
}

}  // namespace headrace::inline v1::bench
