// Package faults tests what users and administrators see when something is wrong: with a token, a right, a request, a file, a
// node. It speaks to the real binary, on a real HDFS, over connections of its own. With $HEDDLE_TEST_STOCK=1 it speaks to a
// stock Hadoop instead, as far as that is meant to behave the same.
package faults
