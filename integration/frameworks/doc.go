// Package frameworks runs applications of frameworks that bring an ApplicationMaster of their own, unmodified, on Heddle's
// ResourceManager and NodeManager: Apache Tez, Apache Flink, Skein and YARN's own services; Apache Hive and Apache Pig, which
// run by MapReduce or Tez; and MapReduce of other versions than the cluster's. Spark has a package of its own.
//
// As that takes minutes, and 700 MB the first time, it is only done with HEDDLE_TEST_FULL=1.
//
// With HEDDLE_TEST_STOCK=1 the same tests run on Hadoop's.
package frameworks
