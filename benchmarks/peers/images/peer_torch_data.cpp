// LibTorch's own loader with our decoder: one `get` a picture, then its stack.
#include <headrace/benchmarks/peers/images/serve.h>
#include <headrace/benchmarks/step/feed.h>

using namespace headrace;
using namespace headrace::bench;

int main(int argc, char** argv) {
  const Request request(argc, argv);
  const FeedOptions options{.source = std::make_shared<const ImageFolder>(request.data),
                            .batch = request.batch,
                            .batches = request.batches,
                            .threads = request.threads};
  return serve(request, [&](const OnBatch& arrived) {
    const Feed feed = torch_data_feed(options);
    for (Pictures pictures; feed(pictures);)
      arrived();
  });
}
