package shorttasks

import "heddle/yarn/wire"

// Tasks wait in the node's memory until there is room for them and their executor has read them. That memory belongs to no task: it isn't in what was
// lent. So large tasks beyond maxHeld are given back, and run elsewhere, or here later.

const (
	// maxHeld is how many bytes of tasks a node holds, and maxHeldOfUser those of one user.
	maxHeld       = 512 << 20
	maxHeldOfUser = 256 << 20
	// perWord is the memory of an argument beside its bytes.
	perWord = 16
	// small tasks are always taken: as many as a node has slots are small together.
	small = 16 << 10
)

// weight returns how much memory a task takes, in bytes.
func weight(t *wire.Task) int {
	n := len(t.Payload)
	for _, s := range t.Args {
		n += len(s) + perWord
	}
	for _, s := range t.Env {
		n += len(s) + perWord
	}
	return n
}

// overloaded reports whether a task that has come is too much beside what the node holds already. The lock is held.
func (n *Node) overloaded(r *run) bool {
	if weight(r.task) <= small {
		return false
	}
	var all, his int
	add := func(user string, bytes int) {
		if all += bytes; user == r.s.user {
			his += bytes
		}
	}
	for _, other := range n.runs {
		if other != nil && other.task != nil && !other.handed { // what is handed is counted with its executor's
			add(other.s.user, weight(other.task))
		}
	}
	for _, x := range n.executors {
		add(x.s.user, x.bytes)
	}
	return all > maxHeld || his > maxHeldOfUser
}
