#include <headrace/apps/inspect/image_data_options.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {

void add_image_data(CLI::App& line, ImageData& data) {
  line.add_option("--masks", data.masks, "Folder of masks, laid out as the images are");
  line.add_option("--mask-suffix", data.mask_suffix, "What a mask's name has before its extension");
  line.add_option("--root", data.root, "Folder of a manifest's paths; default: its own");
}

}  // namespace headrace::inline v1::app
