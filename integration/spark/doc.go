// Package spark runs unmodified Spark applications, with PyPI's pyspark, on Heddle's ResourceManager and NodeManager, which
// are processes of their own with the configuration that Hadoop's would have.
//
// With HEDDLE_TEST_STOCK=1 the same tests run on Hadoop's.
package spark
