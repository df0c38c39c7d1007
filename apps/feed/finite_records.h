#pragma once

#include <headrace/engine/sample/source.h>

#include <memory>

namespace headrace::inline v1::app {

/// The records of `source`, of which one with a NaN or an infinity is a bad sample: read() and
/// gather() throw a DataError. Those that are in memory are looked at once, by several threads, and
/// `source` itself is given where all of them are finite, as where no field can be anything else.
std::shared_ptr<const Source> finite_records(std::shared_ptr<const Source> source);

}  // namespace headrace::inline v1::app
