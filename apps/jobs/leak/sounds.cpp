#include <headrace/apps/feed/debian_package.h>
#include <headrace/apps/jobs/leak/sounds.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/audio/audio_folder.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

struct Package {
  std::string_view name;
  std::string_view sha256;
  std::string_view folder;  ///< of the sounds
};

constexpr std::array<Package, 5> speech{{
    {"asterisk-core-sounds-en-wav",
     "2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d",
     "usr/share/asterisk/sounds/en_US_f_Allison"},
    {"asterisk-core-sounds-es-wav",
     "9283a09a6d56fccdcc2bcfe86c48f0f844289cfbd46a3184d8785a6f7f569903",
     "usr/share/asterisk/sounds/es_MX_f_Allison"},
    {"asterisk-core-sounds-fr-wav",
     "8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e",
     "usr/share/asterisk/sounds/fr_CA_f_June"},
    {"asterisk-core-sounds-it-wav",
     "5a26638089e134b8ac39363fe249c5c93c50cd8bfdc9b2499ae61ec4a35e2fcb",
     "usr/share/asterisk/sounds/it_IT_m_Carlo"},
    {"asterisk-core-sounds-ru-wav",
     "ccbfaebfa450b7a9ddf644ae0f3d1e9017d5df7c0aebe816e946345589d38201",
     "usr/share/asterisk/sounds/ru_RU_f_IvrvoiceRU"},
}};

constexpr Package music{"asterisk-moh-opsound-wav",
                        "8f9d808a729d305c2d3343993f21ca5e6829e411682618dc8ea7aa8bc24a566c",
                        "usr/share/asterisk/moh"};

LeakSplit split_of_track(const std::string& name) {
  if (name.starts_with("reno_project")) return LeakSplit::testing;
  return name.starts_with("manolo_camp") ? LeakSplit::validation : LeakSplit::training;
}

LeakSplit split_of_path(std::string_view path) {
  const std::uint64_t part = (hash_name(path) >> 20) % 20;
  if (part >= 17) return LeakSplit::testing;
  return part >= 14 ? LeakSplit::validation : LeakSplit::training;
}

std::vector<fs::path> wave_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const bool silent = entry.path().parent_path().filename() == "silence";
    if (entry.path().extension() == ".wav" && entry.is_regular_file() && !silent) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

LeakSounds debian_leak_sounds(const std::function<void(std::string_view)>& say) {
  LeakSounds found{.digest = "Asterisk"};
  for (const Package& package : speech) {
    const fs::path root = debian_package(package.name, package.sha256, say) / package.folder;
    for (const fs::path& file : wave_files(root)) {
      const std::string path = file.lexically_relative(root.parent_path()).string();
      found.sounds.push_back({file, root.filename().string(), split_of_path(path)});
    }
    found.digest += fmt::format(" {}", package.sha256.substr(0, 8));
  }
  const fs::path root = debian_package(music.name, music.sha256, say) / music.folder;
  for (const fs::path& file : wave_files(root)) {
    const std::string track = file.stem().string();
    found.sounds.push_back({file, track, split_of_track(track)});
  }
  found.digest += fmt::format(" {}", music.sha256.substr(0, 8));
  return found;
}

LeakSounds folder_leak_sounds(const fs::path& folder) {
  const AudioFolder listed(folder);
  LeakSounds found;
  std::uint64_t digest = 0;
  for (std::int64_t i = 0; i < listed.size(); ++i) {
    const std::string path = listed.origin(i);
    found.sounds.push_back({folder / path, path.substr(0, path.find('/')), split_of_path(path)});
    digest = hash_name(fmt::format("{} {} {}", digest, path, listed.working_bytes(i)));
  }
  found.digest = fmt::format("folder {:016x}", digest);
  return found;
}

std::string_view debian_leak_attribution() {
  return "The recordings beside this file were made from the sounds of these Debian packages by\n"
         "cutting, joining, resampling and adding noise. Who passes them on names the authors and\n"
         "keeps the licences:\n"
         "- asterisk-core-sounds-en-wav, -es-wav: Allison Smith, CC-BY-SA-3.0\n"
         "- asterisk-core-sounds-fr-wav: June Wallack, CC-BY-SA-3.0\n"
         "- asterisk-core-sounds-it-wav: Carlo Flora, CC-BY-3.0\n"
         "- asterisk-core-sounds-ru-wav: Maxim (ivrvoice.ru), CC-BY-3.0\n"
         "- asterisk-moh-opsound-wav: Paul Shuler (Macroform), Manolo Camp, Reno Project,\n"
         "  CC-BY-SA-3.0\n";
}

}  // namespace headrace::inline v1::app
