// Package modes compares the owners, groups and modes of the files of containers with those that YARN's programs leave.
//
// testdata has recordings of a stock NodeManager with LinuxContainerExecutor, whose container-executor was built from
// Hadoop's sources, and with DefaultContainerExecutor. A node of Heddle's must leave the same, except for what
// testdata/differences.txt lists with reasons.
package modes
