// Package spark runs unmodified Spark applications, with PyPI's pyspark, on Heddle's ResourceManager and NodeManager, which
// are processes of their own with the configuration that Hadoop's would have.
//
// The first time Spark is fetched (400 MB). As the applications take minutes, most tests only run with HEDDLE_TEST_FULL=1.
//
// With HEDDLE_TEST_STOCK=1 the same tests run on Hadoop's.
package spark
