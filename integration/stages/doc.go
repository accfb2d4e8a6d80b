// Package stages measures how long jobs of maps and reduces take under different rules, on a cluster of real daemons: heddle-lab bench speculate
// compares rules for slow tasks on nodes that differ, of which one gets a slow disk and one dies; heddle-lab bench stages compares when reduces
// begin. It starts the cluster of integration/daemons, keeps each node with all that runs there in a cgroup of its own, runs the same
// jobs of heddle mr under one rule after the other, and computes figures from the attempts that the jobs report.
package stages
