#pragma once

#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <filesystem>

namespace headrace::test {

/// Writes a small file in the layout of the glaucoma job: maps of 16 x 16 whose brightness tells
/// the class, classes in turn.
void write_glaucoma_data(const std::filesystem::path& file, std::int64_t train_rows,
                         std::int64_t test_rows);

/// The same with labels [rows, ...] of one's own, and with `split` and `patients` [rows] unless
/// they are undefined.
void write_glaucoma_data(const std::filesystem::path& file, const Tensor& labels,
                         const Tensor& split = {}, const Tensor& patients = {});

}  // namespace headrace::test
