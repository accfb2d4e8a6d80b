package promise

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The model is Raft with members that have incarnations, as rm/raft runs it: votes, entries, and lists of members in the log. Messages get lost, are
// delivered late, and twice; members crash at any point, lose their disks, or get older copies back.

// entry is an entry of a modelled log. One with voters is a list of members.
type entry struct {
	term     uint64
	value    int
	voters   []string
	learners []string
}

// state is what a member has on disk.
type state struct {
	name      string // its id and incarnation
	term      uint64
	votedIn   uint64
	votedFor  string
	log       []entry // entry n is at n-1
	page      Page
	forgotten bool
}

func (s state) clone() state {
	s.log = slices.Clone(s.log)
	s.page.Peers = maps.Clone(s.page.Peers)
	return s
}

// node is a member.
type node struct {
	id   int
	disk state
	copy *state // an older copy of the disk

	up     bool
	held   Held
	book   Book
	leads  bool
	commit int
	votes  map[string]bool
	match  map[string]int
}

type letter struct {
	from, to string
	term     uint64
	kind     string // vote, voted, append, appended
	last     int    // vote: the candidate's last entry; append: the entry before
	lastTerm uint64
	entries  []entry
	commit   int
	ok       bool
	match    int
}

type model struct {
	fail      func(format string, args ...any) // reports a violation, and doesn't return
	nodes     []*node
	wire      []letter
	folders   int
	values    int
	starts    int
	leaders   map[uint64]string
	committed []entry
	damaged   int // the member whose disk was lost last, until it is a full one again; -1 for none
}

func (m *model) folder(id int) string {
	m.folders++
	return fmt.Sprintf("%d#%d", id, m.folders)
}

func newModel(fail func(format string, args ...any)) *model {
	m := &model{fail: fail, leaders: map[uint64]string{}, damaged: -1}
	var voters []string
	for id := range 3 {
		m.nodes = append(m.nodes, &node{id: id, disk: state{name: m.folder(id), term: 1}})
		voters = append(voters, m.nodes[id].disk.name)
	}
	for _, n := range m.nodes {
		n.disk.log = []entry{{term: 1, voters: voters}}
		m.start(n)
	}
	return m
}

// record returns the latest list of members in a log.
func record(log []entry) (voters, learners []string, at int) {
	for i := len(log); i > 0; i-- {
		if log[i-1].voters != nil {
			return log[i-1].voters, log[i-1].learners, i
		}
	}
	return nil, nil, 0
}

func lastTerm(log []entry) uint64 {
	if len(log) == 0 {
		return 0
	}
	return log[len(log)-1].term
}

// start starts a process, which judges its folder by its own promises and by those that others who are up know.
func (m *model) start(n *node) {
	m.starts++
	s := Start{n.disk.page.Own.Run + 1, fmt.Sprint(m.starts)}
	n.held = Held{Start: s, Last: uint64(len(n.disk.log)), Term: n.disk.term, Cut: n.disk.page.Cut}
	own := n.disk.page.Own
	own.Start = Start{}
	forgotten := n.disk.forgotten || n.held.Judge("itself", own) != nil
	for _, p := range m.nodes {
		forgotten = forgotten || p != n && p.up && n.held.Judge("a peer", p.book.Of(n.disk.name)) != nil
	}
	if forgotten {
		n.disk = state{name: m.folder(n.id), page: Page{Own: Known{Start: Start{Run: s.Run}}}}
		n.held = Held{Start: s}
	}
	n.book = Book{}
	n.book.Begin(n.disk.page, s)
	n.disk.page = n.book.Page()
	n.up, n.leads, n.commit, n.votes, n.match = true, false, 0, nil, nil
	for _, p := range m.nodes {
		if p != n && p.up {
			p.book.Greeted(n.disk.name, s)
		}
	}
}

func (m *model) send(l letter) { m.wire = append(m.wire, l) }

func (m *model) named(name string) *node {
	for _, n := range m.nodes {
		if n.up && n.disk.name == name {
			return n
		}
	}
	return nil
}

// stand lets a member hold an election.
func (m *model) stand(n *node) {
	voters, _, _ := record(n.disk.log)
	if n.leads || !slices.Contains(voters, n.disk.name) {
		return
	}
	n.disk.term++
	n.disk.votedIn, n.disk.votedFor = n.disk.term, n.disk.name
	n.votes = map[string]bool{n.disk.name: true}
	for _, v := range voters {
		m.send(letter{kind: "vote", from: n.disk.name, to: v, term: n.disk.term, last: len(n.disk.log), lastTerm: lastTerm(n.disk.log)})
	}
	m.elect(n)
}

func (m *model) elect(n *node) {
	voters, _, _ := record(n.disk.log)
	if count(voters, func(v string) bool { return n.votes[v] }) <= len(voters)/2 || n.leads {
		return
	}
	if other := m.leaders[n.disk.term]; other != "" && other != n.disk.name {
		m.fail("%s and %s lead in term %d", other, n.disk.name, n.disk.term)
	}
	m.leaders[n.disk.term] = n.disk.name
	for i, e := range m.committed {
		if i >= len(n.disk.log) || n.disk.log[i].term != e.term || n.disk.log[i].value != e.value {
			m.fail("%s leads in term %d without the committed entry %d", n.disk.name, n.disk.term, i+1)
		}
	}
	n.leads, n.match = true, map[string]int{}
	m.add(n, entry{})
}

func (m *model) add(n *node, e entry) {
	m.values++
	e.term, e.value = n.disk.term, m.values
	n.disk.log = append(n.disk.log, e)
	n.book.Stored(uint64(len(n.disk.log)), n.disk.term)
	n.match[n.disk.name] = len(n.disk.log)
	m.advance(n)
}

// advance commits what a majority has.
func (m *model) advance(n *node) {
	voters, _, _ := record(n.disk.log)
	for i := len(n.disk.log); i > n.commit && n.disk.log[i-1].term == n.disk.term; i-- {
		if count(voters, func(v string) bool { return n.match[v] >= i }) > len(voters)/2 {
			n.commit = i
			n.book.Committed(uint64(i))
			if i > len(m.committed) {
				m.committed = slices.Clone(n.disk.log[:i])
			}
			return
		}
	}
}

func count(names []string, is func(string) bool) (n int) {
	for _, v := range names {
		if is(v) {
			n++
		}
	}
	return n
}

func (m *model) replicate(n *node, from int) {
	voters, learners, _ := record(n.disk.log)
	prev := min(from, len(n.disk.log))
	l := letter{kind: "append", from: n.disk.name, term: n.disk.term, last: prev, lastTerm: lastTerm(n.disk.log[:prev]), entries: slices.Clone(n.disk.log[prev:]), commit: n.commit}
	for _, to := range slices.Concat(voters, learners) {
		if to != n.disk.name {
			l.to = to
			m.send(l)
		}
	}
}

// adopt changes the record one step, as AdoptMembers does.
func (m *model) adopt(n *node, of *node) {
	voters, learners, at := record(n.disk.log)
	if !n.leads || of == n || !of.up || at > n.commit || n.commit == 0 || n.disk.log[n.commit-1].term != n.disk.term {
		return
	}
	mine := func(name string) bool { return name[0] == of.disk.name[0] }
	next := entry{voters: slices.Clone(voters), learners: slices.Clone(learners)}
	switch {
	case slices.Contains(voters, of.disk.name):
		return
	case slices.Contains(learners, of.disk.name):
		if n.match[of.disk.name] < n.commit {
			return
		}
		next.learners = slices.DeleteFunc(next.learners, mine)
		next.voters = append(next.voters, of.disk.name)
	case slices.ContainsFunc(slices.Concat(voters, learners), mine):
		if len(of.disk.log) > 0 {
			return
		}
		next.voters, next.learners = slices.DeleteFunc(next.voters, mine), slices.DeleteFunc(next.learners, mine)
	case len(of.disk.log) == 0:
		next.learners = append(next.learners, of.disk.name)
	default:
		return
	}
	m.add(n, next)
}

// forgets ends a process that learns from another that its folder has forgotten something.
func forgets(n, by *node) bool {
	if by == nil || n.held.Judge("a peer", by.book.Of(n.disk.name)) == nil {
		return false
	}
	n.disk.forgotten, n.up = true, false
	return true
}

func (m *model) deliver(l letter) {
	n := m.named(l.to)
	if n == nil {
		return // meant for another incarnation
	}
	if by := m.named(l.from); by != nil {
		if forgets(n, by) || forgets(by, n) {
			return
		}
		n.book.Greeted(l.from, by.held.Start)
		by.book.Greeted(l.to, n.held.Start)
	}
	if l.term > n.disk.term {
		n.disk.term, n.leads, n.votes = l.term, false, nil
	}
	switch l.kind {
	case "vote":
		m.vote(n, l)
	case "append":
		m.append(n, l)
	case "voted":
		if l.ok && l.term == n.disk.term && n.votes != nil {
			n.votes[l.from] = true
			n.book.VotedFor(l.from, l.term)
			m.elect(n)
		}
	case "appended":
		if l.ok && l.term == n.disk.term && n.leads {
			n.match[l.from] = max(n.match[l.from], l.match)
			n.book.Acknowledged(l.from, uint64(l.match), l.term)
			m.advance(n)
		}
	}
}

func (m *model) vote(n *node, l letter) {
	voters, _, _ := record(n.disk.log)
	newer := lastTerm(n.disk.log) > l.lastTerm || lastTerm(n.disk.log) == l.lastTerm && len(n.disk.log) > l.last
	taken := n.disk.votedIn == l.term && n.disk.votedFor != l.from
	if l.term < n.disk.term || newer || taken || len(voters) > 0 && !slices.Contains(voters, l.from) {
		return
	}
	n.disk.votedIn, n.disk.votedFor = l.term, l.from
	m.send(letter{kind: "voted", from: n.disk.name, to: l.from, term: l.term, ok: true})
}

func (m *model) append(n *node, l letter) {
	if l.term < n.disk.term || l.last > len(n.disk.log) || lastTerm(n.disk.log[:l.last]) != l.lastTerm {
		return
	}
	for i, e := range l.entries {
		at := l.last + i + 1
		if at <= len(n.disk.log) && n.disk.log[at-1].term != e.term {
			if at <= n.commit {
				m.fail("%s should remove the committed entry %d for %s", n.disk.name, at, l.from)
			}
			n.book.CutBy(l.term, uint64(at-1))
			n.disk.page = n.book.Page()
			n.disk.log = n.disk.log[:at-1]
		}
		if at > len(n.disk.log) {
			n.disk.log = append(slices.Clone(n.disk.log), e)
		}
	}
	match := l.last + len(l.entries)
	n.book.Stored(uint64(len(n.disk.log)), lastTerm(n.disk.log))
	n.commit = max(n.commit, min(l.commit, match))
	m.send(letter{kind: "appended", from: n.disk.name, to: l.from, term: l.term, ok: true, match: match})
}

// whole notes when the member whose disk was damaged is a full one again: it has a vote, and all that is committed.
func (m *model) whole() {
	if m.damaged < 0 {
		return
	}
	n := m.nodes[m.damaged]
	voters, _, at := record(m.committed)
	if at > 0 && slices.Contains(voters, n.disk.name) && len(n.disk.log) >= len(m.committed) {
		m.damaged = -1
	}
}

// known reports whether anybody who is up, or the member itself, can tell that a folder is an older copy.
func (m *model) known(n *node, s state) bool {
	held := Held{Start: Start{s.page.Own.Run + 1, "?"}, Last: uint64(len(s.log)), Term: s.term, Cut: s.page.Cut}
	return slices.ContainsFunc(m.nodes, func(p *node) bool {
		return p != n && p.up && held.Judge("a peer", p.book.Of(s.name)) != nil
	})
}

// One leader a term, and committed entries are never lost, whatever happens to one disk at a time.
func TestForgetfulMembersBreakNoPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t.Fatalf)
		pick := func() *node { return m.nodes[rapid.IntRange(0, 2).Draw(t, "member")] }
		for range rapid.IntRange(50, 400).Draw(t, "steps") {
			n := pick()
			switch act := rapid.SampledFrom([]string{
				"deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "again", "lose", "stand", "replicate", "replicate", "propose", "adopt", "adopt",
				"crash", "start", "start", "flush", "empty", "copy", "put back",
			}).Draw(t, "act"); {
			case (act == "deliver" || act == "again" || act == "lose") && len(m.wire) > 0:
				i := rapid.IntRange(0, len(m.wire)-1).Draw(t, "letter")
				l := m.wire[i]
				if act != "again" {
					m.wire = slices.Delete(m.wire, i, i+1)
				}
				if act != "lose" {
					m.deliver(l)
				}
			case act == "start" && !n.up:
				m.start(n)
			case act == "empty" && !n.up && m.damaged < 0:
				m.damaged = n.id
				n.disk = state{name: m.folder(n.id)}
			case act == "copy" && !n.up:
				c := n.disk.clone()
				n.copy = &c
			case act == "put back" && !n.up && n.copy != nil && m.damaged < 0 && m.known(n, *n.copy):
				m.damaged = n.id
				n.disk = n.copy.clone()
				m.start(n)
			case !n.up:
			case act == "stand":
				m.stand(n)
			case act == "replicate" && n.leads:
				m.replicate(n, rapid.IntRange(0, len(n.disk.log)).Draw(t, "from"))
			case act == "propose" && n.leads:
				m.add(n, entry{})
			case act == "adopt":
				m.adopt(n, pick())
			case act == "crash":
				n.up = false
			case act == "flush":
				n.disk.page = n.book.Page()
			}
			m.whole()
		}
	})
}

// The model finds the fault that there was: a folder without an incarnation is taken for the one that was lost.
func TestTheModelFindsALeaderWithoutCommittedEntries(t *testing.T) {
	type violation string
	m := newModel(func(format string, args ...any) { panic(violation(fmt.Sprintf(format, args...))) })
	a, b, c := m.nodes[0], m.nodes[1], m.nodes[2]
	all := func() {
		for len(m.wire) > 0 {
			l := m.wire[0]
			m.wire = m.wire[1:]
			m.deliver(l)
		}
	}
	c.up = false
	m.stand(a)
	all()
	m.replicate(a, 1)
	all()
	if a.commit != 2 || !a.leads {
		t.Fatalf("%+v", a)
	}
	a.up, b.up = false, false
	b.disk = state{name: b.disk.name} // as it was without incarnations
	m.start(b)
	m.start(c)
	c.disk.term = 5
	found := func() (found violation) {
		defer func() {
			if p := recover(); p != nil {
				found = p.(violation)
			}
		}()
		m.stand(c)
		all()
		return ""
	}()
	if want := violation(c.disk.name + " leads in term 6 without the committed entry 2"); found != want {
		t.Errorf("the model says %q, want %q", found, want)
	}
}
