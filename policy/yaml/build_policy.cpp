#include "policy/yaml/build_policy.h"

#include <utility>

#include "policy/yaml/build.h"
#include "policy/yaml/build_groups.h"
#include "policy/yaml/build_levels.h"
#include "policy/yaml/build_rules.h"
#include "policy/yaml/build_setup.h"
#include "policy/yaml/build_tree.h"
#include "policy/yaml/build_ulps.h"
#include "policy/yaml/level_overrides.h"
#include "policy/yaml/user_directory.h"

namespace rdmaqos::reader {

Policy build_policy(Context& context, const Sections& sections, const NameService& names)
{
    UserDirectory users(names);
    Build build(context, users, sections);
    read_groups(build);
    read_class_names(build);
    read_scheduling_nodes(build);
    read_levels(build);
    build.policy.overrides = read_overrides(context, sections);
    read_partitions(build);
    read_ulps(build);
    read_match_rules(build);
    read_setups(build);
    build.end_rules();
    if (!build.choose_default()) {
        report_no_default(build);
    }
    check_tree(build);
    return std::move(build.policy);
}

}    // namespace rdmaqos::reader
