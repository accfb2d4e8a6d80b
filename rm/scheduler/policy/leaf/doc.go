// Package leaf has the leaf policies, which decide in which order a capacity leaf serves its applications, and which requests wait.
//
// A leaf names its policy (ordering-policy). YARN's own (fifo, fair and their variants) are built in: each is a rule of package order, and
// the search for the next request compares keys without asking a policy. Any other policy implements Policy, in a package below
// rm/scheduler/policy, and comes in by Register. Package queue refuses unknown names when it loads files.
//
// The core (package core) makes one Policy for each leaf that names it, and asks it through a Guard. The Guard prevents starvation:
// no answer of a policy makes an application or request wait for longer than Bound.
package leaf
