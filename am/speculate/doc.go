// Package speculate decides which running tasks are worth a copy, and on which nodes. Its Speculators are pure: observations
// in, proposals out, and the same observations give the same proposals.
//
//   - ESplash is for clusters whose nodes differ. It sorts nodes into speed classes, finds those that are slow for their
//     class, and copies their tasks to nodes that are fast enough to win (Wang et al., eSplash).
//   - Split stops maps early while slots are idle; new tasks do the rest of their input, so that nothing is done twice. For tasks that
//     can't be split it is ESplash.
//   - Late is what Hadoop does: it compares tasks with the mean of all others, whatever node they run on.
//
// # Where this isn't what the paper prints
//
// The straggler value of section 5.2.2 is a sum that only grows, so that each node passes the threshold in the end. Here it is
// a moving average over epochs of the mean over the node's tasks, from which the 1 that a healthy task adds by its progress
// rate is taken off. A healthy node settles near 0. Single terms are bounded: one wild estimate doesn't mark a node. A node on which
// nothing runs keeps its value: nothing shows that it has recovered.
//
// A node that has finished nothing has no class yet. It may be a slow one that works as it always does: it straggles only if
// its tasks hardly move. Tasks that have run for less than an epoch are never copied, as their estimates mean nothing.
//
// The text compares a node with its class. Where fewer than two nodes of the class are well and have such tasks, that would be the node itself: then it is
// compared with the nearest class, at the pace that it had beside that in this job, and with each attempt's own earlier pace.
//
// A reduce that fetches while maps still run waits for them. Its pace says nothing of its node, and a copy would wait as well:
// such a reduce is neither part of a straggler value nor copied.
//
// EstEnd of equation 5.1 doesn't allow for a task that stopped when it was almost done. So the remaining time is the larger of that
// estimate and of one by the rate of the last epoch.
//
// C(m), the containers of class m, leaves out straggling nodes, which never get copies.
//
// Where no other node of a straggler's class or above is left, algorithm 5.2.3 continues with the lower classes: a slower node may be better
// than a stuck one, as the value shows.
//
// Algorithm 5.2.2 begins with random centres. Here they are spread evenly over the nodes by speed, so that results repeat; and
// classes that hardly differ are one, so that noise among equal nodes makes none.
package speculate
