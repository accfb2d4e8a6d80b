// Package cli compares heddle's commands with yarn's, both against a Heddle ResourceManager and NodeManager and, with
// HEDDLE_TEST_STOCK set, against Hadoop's own.
package cli
