// Package suspended tests what befalls suspended containers on a cluster of heddle processes and real cgroups: masters that die, applications that are
// killed, nodes that are lost or made smaller, and sizes that change. After each, nothing is left, and all sums are right.
package suspended
