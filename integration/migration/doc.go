// Package migration does what docs/migration.md says, line by line, on machines of its own: a YARN with two ResourceManagers, ZooKeeper, HDFS and two nodes
// becomes Heddle's, and YARN's again, while jobs run. Each machine has its own network, processes and files, so that commands run as they
// are written on the page.
package migration
