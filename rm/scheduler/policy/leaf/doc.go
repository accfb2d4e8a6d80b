// Package leaf knows the leaf policies: in which order a capacity leaf serves its applications, and what it makes wait.
//
// A leaf names its policy (ordering-policy). YARN's own (fifo, fair and their variants) are built in: each is a rule of package
// order, and the search for who is next compares keys without asking anybody. Any other policy implements Policy, in a package
// below rm/scheduler/policy, and comes in by Register. Package queue refuses names that it doesn't know, when files are loaded.
//
// The core (package core) makes one Policy for each leaf that names it, and asks it through a Guard. The Guard keeps it from
// starving anybody: nothing that a policy says makes an application or request wait for longer than Bound.
package leaf
