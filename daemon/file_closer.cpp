#include "daemon/file_closer.h"

#include <algorithm>

namespace rdmaqos {

FileCloser::FileCloser()
{
    for (auto& lane : lanes_) {
        lane.worker = std::make_unique<Worker>("closer", 0);
    }
}

void FileCloser::close(UniqueFd fd)
{
    if (!fd) {
        return;
    }
    auto& lane = *std::ranges::min_element(lanes_, {}, [](const Lane& each) { return each.closing.load(); });
    ++lane.closing;
    lane.worker->submit_always([owned = std::make_shared<UniqueFd>(std::move(fd)), &lane] {
        owned->reset();
        --lane.closing;
    });
}

}    // namespace rdmaqos
