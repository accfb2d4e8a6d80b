// Package measure compares, adds and rounds amounts of resources as YARN's ResourceCalculators do.
//
// DefaultResourceCalculator and the FifoScheduler measure memory alone; DominantResourceCalculator and the FairScheduler
// measure every type of resource, and compare amounts by their largest share of the cluster. A Calculator is told which
// of both it is, and how large the cluster is. It is used on the scheduler's hot path: amounts are passed by pointer, and
// nothing allocates.
package measure
