// Package handle has the names by which the packages of the scheduler call nodes, applications and containers: indices of
// dense arrays, so that the hot path needs no maps. A handle is reused after its object is gone.
package handle
