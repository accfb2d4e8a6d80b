// Package rest holds the comparison of Heddle's REST APIs with recordings of a stock Hadoop's. Its test starts a
// ResourceManager and a NodeManager in each of the configurations in testdata/conf, lets testdata/scenario.py make the
// recorded requests, and has testdata/compare.py judge. What differs is listed in testdata/differences, with the reason, and
// nothing else may: neither may a listed difference be gone.
package rest
