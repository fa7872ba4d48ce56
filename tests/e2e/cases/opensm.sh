# shellcheck shell=bash
# OpenSM as Debian has it, on fabrics of ibsim: what it answers and what it gives to ports, compared with rdma-qosctl on
# the same fabric, policy and partitions as our imports make them.
#
# RDMAQOS_OPENSM_QUERIES path queries (default 300) with each seed of RDMAQOS_OPENSM_SEEDS (default 1,2,3); the seed
# determines fabrics, policies, partitions and questions.

# shellcheck source=../lib.sh
. ./lib.sh

IFS=, read -ra opensm_seeds <<<"${RDMAQOS_OPENSM_SEEDS:-1,2,3}"

opensm_answers()
{
    local seed said status totals=() version
    for seed in "${opensm_seeds[@]}"; do
        status=0
        said=$(PYTHONDONTWRITEBYTECODE=1 python3 "$files/opensm/compare.py" "$seed" "${RDMAQOS_OPENSM_QUERIES:-300}" \
            "$scratch/opensm-$seed" 2>&1) || status=$?
        printf 'seed %s:\n%s\n' "$seed" "$said"
        if ((status != 0)); then
            cp -r "$scratch/opensm-$seed" /out/ || true
            fail "seed $seed: status $status"
        fi
        totals+=("$(tail -n 1 <<<"$said")")
    done
    version=$(dpkg-query -W -f '${Version}' opensm)
    table_row OpenSM "$version" "paths, P_Keys, IPoIB groups, SLs; random policies, seeds ${opensm_seeds[*]}" \
        "$(opensm_total "${totals[@]}")" 0
}

# opensm_total TEXT...: "10 path queries, 5 SLs: 0 differences" each; prints how many comparisons these are.
opensm_total()
{
    printf '%s\n' "${@%%:*}" | tr ',' '\n' | awk '{ sum += $1 } END { print sum }'
}

# What `export opensm` prints, given to OpenSM: the tables that it sends to the ports.
opensm_virtual_lanes()
{
    local said status=0 version
    said=$(PYTHONDONTWRITEBYTECODE=1 python3 "$files/opensm/virtual_lanes.py" "$scratch/opensm-lanes" 2>&1) || status=$?
    printf '%s\n' "$said"
    if ((status != 0)); then
        cp -r "$scratch/opensm-lanes" /out/ || true
        fail "status $status"
    fi
    version=$(dpkg-query -W -f '${Version}' opensm)
    table_row OpenSM "$version" "VL arbitration and SL tables of ports, by \`export opensm\`" \
        "$(opensm_total "$(tail -n 1 <<<"$said")")" 0
}

test_case opensm_answers "OpenSM and rdma-qosctl answer random path queries alike"
test_case opensm_virtual_lanes "OpenSM sets the virtual lanes that rdma-qosctl exports"
