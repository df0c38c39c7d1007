#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headrace::inline v1::app {

/// Labels of recordings, by their number in the dataset "labels"; a file's attribute "labels_json"
/// says the same.
inline constexpr std::array<std::string_view, 5> leak_label_names{"BACKGROUND", "CRACK", "LEAK",
                                                                  "NORMAL", "UNCLASSIFIED"};
inline constexpr std::string_view leak_label = "LEAK";

/// Datasets of a file: float16 [files, long, short, mels, frames], int16 [files], and int16 [files,
/// long, short, samples].
inline constexpr const char* leak_mel_dataset = "/segments_mel";
inline constexpr const char* leak_label_dataset = "/labels";
inline constexpr const char* leak_waveform_dataset = "/segments_waveform";

/// The job's own network, which is known by name to this job alone.
inline constexpr const char* leak_network = "leak_cnn";

/// Classes of the binary task: 0 all others, 1 leak.
inline constexpr int leak_classes = 2;

}  // namespace headrace::inline v1::app
