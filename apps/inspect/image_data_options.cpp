#include <headrace/apps/inspect/image_data_options.h>

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {

void add_image_data(CLI::App& line, ImageData& data) {
  line.add_option("--masks", data.masks, "Folder of masks, laid out as the images are");
  line.add_option("--mask-suffix", data.mask_suffix, "What a mask's name has before its extension");
  add_list(line, data.root, data.columns);
  add_follow_links(line, data.follow_links);
}

void add_list(CLI::App& line, std::filesystem::path& root, ManifestColumns& columns) {
  line.add_option("--root", root, "Folder of a list's paths; default: the list's own");
  line.add_option("--image-column", columns.path, "Column of a list's paths; else image or path");
  line.add_option("--mask-column", columns.mask, "Column of its masks; else mask");
  line.add_option_function<std::vector<std::string>>(
          "--label-column",
          [&columns](const std::vector<std::string>& names) {
            columns.label = names.size() == 1 ? names.front() : "";
            columns.labels = names.size() == 1 ? std::vector<std::string>{} : names;
          },
          "Column of its classes; else label. Given several times: columns of 0 and 1, a class "
          "each")
      ->take_all()
      ->allow_extra_args(false);
}

void add_follow_links(CLI::App& line, bool& follow_links) {
  line.add_flag("--follow-links", follow_links,
                "Follow links out of the folder and to folders, as git-annex and DVC keep files");
}

}  // namespace headrace::inline v1::app
