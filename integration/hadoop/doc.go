// Package hadoop runs unmodified Hadoop jobs, with Hadoop's own clients, HDFS and JobHistoryServer, on Heddle's
// ResourceManager and NodeManager, which are processes of their own with the configuration that Hadoop's would have.
//
// Some tests only run with HEDDLE_TEST_FULL=1, as `make integration-full` sets it.
//
// With HEDDLE_TEST_STOCK=1 the same tests run on Hadoop's ResourceManager and NodeManager: what they check is what Hadoop
// does.
package hadoop
