// Package rest compares Heddle's REST APIs with recordings of a stock Hadoop's. Its test starts a
// ResourceManager and a NodeManager in each of the configurations in testdata/conf, lets testdata/scenario.py make the
// recorded requests, and lets testdata/compare.py judge. testdata/differences lists all differences with their reasons. The test fails
// on any other difference, and on a listed one that no longer occurs.
package rest
