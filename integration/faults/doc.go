// Package faults tests what users and administrators see when something is wrong with a token, a right, a request, a file or a
// node. It talks to the real binary, on a real HDFS, over its own connections. With $HEDDLE_TEST_STOCK=1 it talks to a
// stock Hadoop instead, as far as both should behave the same.
package faults
