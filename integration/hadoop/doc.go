// Package hadoop runs unmodified Hadoop jobs, with Hadoop's own clients, HDFS and JobHistoryServer, on Heddle's
// ResourceManager and NodeManager, which are separate processes with the configuration of Hadoop's daemons.
//
// Some tests run only with HEDDLE_TEST_FULL=1, which `make integration-full` sets.
//
// With HEDDLE_TEST_STOCK=1 the same tests run on Hadoop's ResourceManager and NodeManager, which proves that the tests expect Hadoop's
// behaviour.
package hadoop
