// Package turns gives downloads their places by turns of users, so that no user's downloads hold up those of others. It does no I/O and has no lock.
package turns

import "slices"

// Turns are the places of one pool of downloads, by users. As long as there are places, that user is next who has the fewest downloads under way. Each
// user gets a share of the places at once, though others hold them all: their downloads may come from servers that never answer. So a pool of p places has
// at most p downloads under way of one user, and at most p and one for each other user or 2p together, whichever is more. The caller's lock guards it.
type Turns struct {
	places  int
	running int
	users   map[string]*queue // users with downloads that wait or run
	came    uint64            // tickets so far
}

// queue is the downloads of one user.
type queue struct {
	running int
	waiting []*Ticket // in the order in which the user came to want them
}

// Ticket is the right of one download to a place. It may wait in the queues of several users, who all want the file, and takes the first turn that
// any of them has.
type Ticket struct {
	number  uint64
	begin   func() // called once, when the download may begin. The lock is held
	waiting []string
	user    string // whose place it has
	running bool
}

// New returns a pool of so many places, at least 1.
func New(places int) *Turns { return &Turns{places: places, users: map[string]*queue{}} }

// Enter makes a ticket, which waits in the queue of a user. begin may be called at once.
func (t *Turns) Enter(user string, begin func()) *Ticket {
	t.came++
	k := &Ticket{number: t.came, begin: begin}
	t.Join(k, user)
	return k
}

// Join makes a ticket wait in the queue of another user, too, unless it waits no more.
func (t *Turns) Join(k *Ticket, user string) {
	if k.running || k.begin == nil || slices.Contains(k.waiting, user) {
		return
	}
	q := t.users[user]
	if q == nil {
		q = &queue{}
		t.users[user] = q
	}
	k.waiting = append(k.waiting, user)
	q.waiting = append(q.waiting, k)
	t.admit()
}

// Leave gives a ticket's place back, or ends its wait.
func (t *Turns) Leave(k *Ticket) {
	t.unqueue(k)
	if k.running {
		k.running = false
		t.running--
		t.users[k.user].running--
		t.tidy(k.user)
	}
	k.begin = nil
	t.admit()
}

// Idle reports whether nothing runs or waits.
func (t *Turns) Idle() bool { return len(t.users) == 0 }

// share returns how many places each user has at least, who wants some.
func (t *Turns) share() int { return max(1, t.places/len(t.users)) }

// admit begins what may begin.
func (t *Turns) admit() {
	for {
		user := t.next()
		if user == "" || t.running >= t.places && t.users[user].running >= t.share() {
			return
		}
		k := t.users[user].waiting[0]
		k.running, k.user = true, user
		t.running++
		t.users[user].running++
		t.unqueue(k)
		k.begin()
	}
}

// next returns the next of the waiting users: the first of those with the fewest places; "" if none waits.
func (t *Turns) next() (user string) {
	var best *queue
	for name, q := range t.users {
		if len(q.waiting) > 0 && (best == nil || q.running < best.running || q.running == best.running && q.waiting[0].number < best.waiting[0].number) {
			user, best = name, q
		}
	}
	return user
}

// unqueue takes a ticket out of all queues.
func (t *Turns) unqueue(k *Ticket) {
	for _, user := range k.waiting {
		q := t.users[user]
		q.waiting = slices.DeleteFunc(q.waiting, func(x *Ticket) bool { return x == k })
		t.tidy(user)
	}
	k.waiting = nil
}

// tidy forgets a user who has nothing that waits or runs.
func (t *Turns) tidy(user string) {
	if q := t.users[user]; q.running == 0 && len(q.waiting) == 0 {
		delete(t.users, user)
	}
}
