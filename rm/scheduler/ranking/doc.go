// Package ranking keeps the rankings by which requests are served: the children of a queue, the users of a leaf, the
// applications of a user, and the requests of an application.
//
// Every ranking is a treap whose elements live in one Arena, a line of the processor's cache each. An element has a key, by
// which the Rule of its ranking compares it, and a mask of the classes of asks (see package class) that it may offer to
// serve. Each element also knows the union of the masks in its subtree, so First and Next find the first element that
// offers one of some classes in logarithmic time. Masks are upper bounds: their owner lowers them when a search finds
// nothing, and raises them with whatever loosens a limit.
//
// The owner of an element changes its key in place through Key, and then calls Moved. Nothing allocates but the arena
// when it grows. The shape of a treap depends only on the history of calls, so the same events give the same decisions.
package ranking
