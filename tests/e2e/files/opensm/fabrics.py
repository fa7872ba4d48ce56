"""Random fabrics, as net files of ibsim."""

# Of a host's link: width and speed as ibsim enables them ("s" and "w" are bits; "e" the speeds above QDR).
HOST_LINKS = ["s=1 w=1", "s=1 w=3", "s=3 w=3", "s=7 w=3", "s=7 e=1 w=3", "s=7 e=3 w=3"]
# Faster than every host: the answer for a path has the rate of its ends (docs/policy-reference.md, "ports").
SWITCH_LINK = "s=7 e=3 w=3"


class Net:
    """Nodes and links; every node is a list of its ports' lines."""

    def __init__(self, rng):
        self.rng = rng
        self.nodes = {}    # name: (kind, ports, [lines])

    def add(self, kind, name, ports):
        self.nodes[name] = (kind, ports, [])

    def link(self, a, b, options):
        ports = []
        for name in (a, b):
            ports.append(len(self.nodes[name][2]) + 1)
            self.nodes[name][2].append("")
        for this, other, own, far in ((a, b, 0, 1), (b, a, 1, 0)):
            self.nodes[this][2][ports[own] - 1] = f'[{ports[own]}] "{other}"[{ports[far]}] {options}'

    def host(self, name, switches):
        """A host with a port to each of the switches."""
        self.add("Hca", name, 2)
        for switch in switches:
            self.link(name, switch, self.rng.choice(HOST_LINKS))

    def text(self):
        blocks = []
        # The node of the subnet manager is the first.
        for name, (kind, ports, lines) in sorted(self.nodes.items(), key=lambda node: node[1][0]):
            blocks.append("\n".join([f'{kind} {ports} "{name}"', *lines]))
        return "\n\n".join(blocks) + "\n"


def fat_tree(rng):
    """Two levels: each leaf switch is linked to each spine."""
    net = Net(rng)
    spines = [f"spine {i}" for i in range(rng.choice([2, 3]))]
    leaves = [f"leaf switch-{i}" for i in range(rng.choice([3, 4]))]
    for name in spines + leaves:
        net.add("Switch", name, 24)
    for leaf in leaves:
        for spine in spines:
            net.link(leaf, spine, SWITCH_LINK)
    for i in range(rng.randint(20, 26)):
        net.host(f"node{i:02} HCA-1", [leaves[i % len(leaves)]])
    return net.text()


def ring(rng):
    """A ring of switches; some hosts have two ports."""
    net = Net(rng)
    switches = [f"ring/{i}" for i in range(4)]
    for name in switches:
        net.add("Switch", name, 24)
    for a, b in zip(switches, switches[1:] + switches[:1]):
        net.link(a, b, SWITCH_LINK)
    for i in range(rng.randint(14, 18)):
        first = i % len(switches)
        count = rng.choice([1, 1, 2])
        net.host(f"host{i:02} mlx5_{i % 2}", [switches[(first + j) % len(switches)] for j in range(count)])
    return net.text()


# Name, maker, LMC.
SHAPES = [("fat tree", fat_tree, 0), ("ring", ring, 0), ("fat tree, LMC 2", fat_tree, 2)]
