# Simulates two machines on one: two network namespaces, each with its own host name, joined by a cable that can be cut or slowed.
# Source this file as root; `two_nodes_up` creates the namespaces, `two_nodes_down` removes them.
# shellcheck shell=bash

NODES_DIR=${NODES_DIR:-$(mktemp -d)}

two_nodes_up() {
    ip netns add doppio-a
    ip netns add doppio-b
    ip link add doppio-va netns doppio-a type veth peer name doppio-vb netns doppio-b
    ip -n doppio-a addr add 10.77.0.1/24 dev doppio-va
    ip -n doppio-b addr add 10.77.0.2/24 dev doppio-vb
    local ns
    for ns in a b; do
        ip -n doppio-$ns link set lo up
        ip -n doppio-$ns link set doppio-v$ns up
    done
    # mpirun calls this script instead of ssh: AGENT HOST COMMAND...
    cat > "$NODES_DIR/agent" <<'AGENT'
#!/bin/sh
shift
exec ip netns exec doppio-b unshare --uts sh -c 'hostname node-b; shift; exec sh -c "$*"' sh - "$@"
AGENT
    chmod +x "$NODES_DIR/agent"
}

two_nodes_down() {
    local ns pid
    for ns in doppio-a doppio-b; do
        for pid in $(ip netns pids $ns 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
        ip netns del $ns 2>/dev/null || true
    done
    rm -rf "$NODES_DIR"
}

# Limits both directions of the cable to RATE, e.g. 1gbit.
two_nodes_rate() {
    local ns
    for ns in a b; do
        tc -n doppio-$ns qdisc replace dev doppio-v$ns root tbf rate "$1" burst 256kb latency 50ms
    done
}

two_nodes_cut() { ip -n doppio-a link set doppio-va down; }
two_nodes_mend() { ip -n doppio-a link set doppio-va up; }

# Loses all further packets in both directions, as when a machine loses power: they are sent to a network card that does not exist,
# and neither side gets an error.
two_nodes_lose() {
    ip -n doppio-a neigh replace 10.77.0.2 lladdr 02:00:00:00:00:01 nud permanent dev doppio-va
    ip -n doppio-b neigh replace 10.77.0.1 lladdr 02:00:00:00:00:01 nud permanent dev doppio-vb
}
two_nodes_find() {
    ip -n doppio-a neigh del 10.77.0.2 dev doppio-va
    ip -n doppio-b neigh del 10.77.0.1 dev doppio-vb
}

# Prints the ids of the processes named NAME on both nodes, node-a's first.
two_nodes_pids() {
    local pid
    for pid in $(ip netns pids doppio-a) $(ip netns pids doppio-b); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] && echo "$pid"
    done
    true
}

# Runs COMMAND as one rank on each node.
two_nodes_mpirun() {
    ip netns exec doppio-a unshare --uts sh -c 'hostname node-a; exec "$@"' sh \
        mpirun --allow-run-as-root -n 2 --host 10.77.0.1:1,10.77.0.2:1 --map-by node --bind-to none \
        --mca plm_rsh_agent "$NODES_DIR/agent" --mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 --mca pml ob1 "$@"
}
