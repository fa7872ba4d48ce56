// What properties said when they were last published, so that PropertiesChanged names those that differ, and no others.
// Of each value a digest is kept.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/bus/property.h"

namespace rdmaqos {

class PublishedProperties {
public:
    // The properties of the object at `path` that say something else than last time, in the order of the table; of an
    // object that was not looked at before, all that can change. What they say now counts as published, whether anybody
    // listens or not: a new listener reads the properties, and gets the changes from then on.
    std::vector<const char*> changed(BusContext& context, const std::string& path,
                                     std::span<const Property> properties);
    void forget(const std::string& path) { digests_.erase(path); }

private:
    std::map<std::string, std::vector<std::uint64_t>> digests_;    // by path, in the order of the table
};

}    // namespace rdmaqos
