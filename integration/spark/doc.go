// Package spark runs unmodified Spark applications, with PyPI's pyspark, on Heddle's ResourceManager and NodeManager, which
// are separate processes with the configuration of Hadoop's daemons.
//
// The first run fetches Spark (400 MB). Most tests run only with HEDDLE_TEST_FULL=1, because the applications take minutes.
//
// With HEDDLE_TEST_STOCK=1 the same tests run on Hadoop's daemons.
package spark
