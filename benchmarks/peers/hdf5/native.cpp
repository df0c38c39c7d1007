// The library itself, called from C++ as its manual shows.
#include <headrace/benchmarks/peers/hdf5/peers.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <H5Cpp.h>

namespace headrace::inline v1::bench {

std::function<double()> library_rows(const DataSet& data, Order order, int crew,
                                     std::int64_t rows) {
  auto file = std::make_shared<H5::H5File>(data.file.c_str(), H5F_ACC_RDONLY);
  auto epoch = std::make_shared<std::int64_t>(0);
  return [=, bytes = data.row_bytes(), rank = data.row.size() + 1] {
    std::atomic<std::int64_t> next{0};
    {
      std::vector<std::jthread> readers;
      for (int t = 0; t < crew; ++t) {
        readers.emplace_back([&] {
          const H5::DataSet set = file->openDataSet("row");
          const H5::DataType type = set.getDataType();
          const H5::DataSpace place = set.getSpace();
          std::vector<hsize_t> count(rank), start(rank, 0);
          place.getSimpleExtentDims(count.data());
          count[0] = 1;
          const H5::DataSpace memory(static_cast<int>(rank), count.data());
          std::vector<std::byte> out(static_cast<std::size_t>(batch_rows) * bytes);
          for (std::int64_t i = next++; i < rows; i = next++) {
            std::int64_t index = 0;
            order->indices(*epoch, i, std::span(&index, 1));
            start[0] = static_cast<hsize_t>(index);
            place.selectHyperslab(H5S_SELECT_SET, count.data(), start.data());
            set.read(out.data() + static_cast<std::size_t>(i % batch_rows) * bytes, type, memory,
                     place);
          }
        });
      }
    }
    ++*epoch;
    return static_cast<double>(rows);
  };
}

}  // namespace headrace::inline v1::bench
