#include "daemon/bus/published_properties.h"

#include "lib/base/hash.h"

namespace rdmaqos {

std::vector<const char*> PublishedProperties::changed(BusContext& context, const std::string& path,
                                                      std::span<const Property> properties)
{
    const auto [entry, is_new] = digests_.try_emplace(path, properties.size());
    std::vector<const char*> names;
    for (std::size_t i = 0; i < properties.size(); ++i) {
        const Property& property = properties[i];
        if (!property.is_published()) {
            continue;
        }
        std::uint64_t digest = kFnvOffset;
        bus::Writer writer(digest);
        property.write(context, path.c_str(), writer);
        if (is_new || entry->second[i] != digest) {
            entry->second[i] = digest;
            names.push_back(property.name);
        }
    }
    return names;
}

}    // namespace rdmaqos
