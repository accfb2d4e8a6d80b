// Package frameworks runs unmodified applications of frameworks with their own ApplicationMasters on Heddle's
// ResourceManager and NodeManager: Apache Tez, Apache Flink, Skein and YARN's own services; Apache Hive and Apache Pig, which
// use MapReduce or Tez; and MapReduce of other versions than the cluster's. Spark has its own package.
//
// It runs only with HEDDLE_TEST_FULL=1, because it takes minutes, and 700 MB the first time.
//
// With HEDDLE_TEST_STOCK=1 the same tests run on Hadoop's daemons.
package frameworks
