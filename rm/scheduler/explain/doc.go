// Package explain says what holds a request that has not been served: which limit binds, whose it is, by how much, and what
// would free it. The answers appear in `heddle app -why`, in REST, on the pages and in the diagnostics of applications.
//
// Explainer.Explain looks at the limits in the order in which they bind: those that keep an application from running, those of queues and
// users, then nodes. The scheduler's Policy answers what depends on it. OnNodes, and Activities of the capacity policy, tell the same of
// single nodes in the words of YARN's activities. Explaining changes no decision.
package explain
