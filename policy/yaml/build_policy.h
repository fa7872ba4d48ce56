// From merged sections to a Policy, section by section.
#pragma once

#include "policy/model/name_service.h"
#include "policy/model/policy.h"
#include "policy/text/context.h"
#include "policy/yaml/sections.h"

namespace rdmaqos::reader {

[[nodiscard]] Policy build_policy(Context& context, const Sections& sections, const NameService& names);

}    // namespace rdmaqos::reader
