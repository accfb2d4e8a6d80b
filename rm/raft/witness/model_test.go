package witness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"heddle/rm/raft/feed"
)

// The model has two full members and a witness. Messages are lost, delayed and doubled. Members crash before they have written, or between writing
// and answering. Disks are emptied, and folders put back that were lost before. The witness is the real State, and the leaders' restraint the
// real Pace; full members are a plain Raft.
//
// It checks that a term has one leader, that each leader has every committed entry, and that an entry which is committed while the other full member is
// not known to be away lies on both disks.

// disk is what survives a crash.
type disk struct {
	name  string // with the incarnation of the folder
	state State  // the terms of its log, too; a full member's Lists are not compacted
	data  []string
	lists []List
}

// post is a message.
type post struct {
	from, to string
	kind     string // append, appended, install, vote, voted
	body     any
	data     []string // of the entries, for full members only
	req      *hraft.AppendEntriesRequest
}

type participant struct {
	disk
	id      string // without the incarnation
	witness bool
	down    bool
	cut     bool // reaches nobody
	old     []disk

	leads       bool
	stands      bool
	votes       map[string]bool
	match, next map[string]uint64
	pace        *feed.Pace
	released    uint64 // entries up to this one went to the witness while the other full member was away
}

type model struct {
	t         *rapid.T
	now       time.Time
	all       map[string]*participant
	net       []post
	leaders   map[uint64]string
	committed map[uint64]string // by index: term and data
	values    int
	folders   int            // the number of the last folder that was made
	seen      map[string]int // what has happened, to see that the test tests something
}

const fullA, fullB, third = "rm1", "rm2", "witness"

func newModel(t *rapid.T, seen map[string]int) *model {
	m := &model{t: t, now: time.Unix(1e9, 0), all: map[string]*participant{}, leaders: map[uint64]string{}, committed: map[uint64]string{}, seen: seen, folders: 1}
	first := List{1, members(fullA+"#1", fullB+"#1", third+"#1")}
	for _, id := range []string{fullA, fullB, third} {
		p := &participant{id: id, witness: id == third}
		p.disk = disk{name: id + "#1", state: State{Term: 1, Last: 1, Runs: []Run{{1, 1}}, Lists: []List{first}}, data: []string{""}, lists: []List{first}}
		m.all[id] = p
		p.start()
	}
	return m
}

// start begins a process: it knows nothing that isn't on disk.
func (p *participant) start() {
	p.down, p.leads, p.stands, p.released = false, false, false, 0
	p.pace = feed.NewPace(feed.Times{Silence: 250 * time.Millisecond, Patience: 2500 * time.Millisecond}, true)
}

func (d disk) entry(i uint64) string {
	term, _ := d.state.termOf(i)
	return fmt.Sprintf("%d:%s", term, d.data[i-1])
}

// conf returns the newest list of members.
func (d disk) conf() hraft.Configuration {
	if len(d.lists) == 0 {
		return hraft.Configuration{}
	}
	return hraft.DecodeConfiguration(d.lists[len(d.lists)-1].Data)
}

func (d disk) voters() (out []string) {
	for _, s := range d.conf().Servers {
		if s.Suffrage == hraft.Voter {
			out = append(out, string(s.ID))
		}
	}
	return out
}

func bare(name string) string { id, _, _ := strings.Cut(name, "#"); return id }

// send puts a message into the network, if the sender isn't cut off.
func (m *model) send(p post) {
	if !m.all[bare(p.from)].cut {
		m.net = append(m.net, p)
	}
}

// full returns the other full members with a vote.
func (m *model) full(p *participant) (out []string) {
	for _, v := range p.voters() {
		if v != p.name && bare(v) != third {
			out = append(out, v)
		}
	}
	return out
}

// replicate has a leader send what a member lacks.
func (m *model) replicate(p *participant, to string) {
	next := cmp.Or(p.next[to], p.state.Last+1)
	term, _ := p.state.termOf(next - 1)
	r := &hraft.AppendEntriesRequest{RPCHeader: hraft.RPCHeader{ID: []byte(p.name)}, Term: p.state.Term, PrevLogEntry: next - 1, PrevLogTerm: term, LeaderCommitIndex: p.state.Commit}
	last := min(p.state.Last, next+3)
	var data []string
	if bare(to) == third && last >= next {
		limit := p.pace.Limit(last, m.full(p), m.now)
		if absent := p.pace.Absent(p.state.Last, m.full(p), m.now); absent != nil || len(m.full(p)) == 0 {
			p.released = max(p.released, min(last, limit))
		}
		last = min(last, limit)
	}
	for i := next; i <= last; i++ {
		term, _ := p.state.termOf(i)
		e := &hraft.Log{Index: i, Term: term}
		if at := slices.IndexFunc(p.lists, func(l List) bool { return l.Index == i }); at >= 0 {
			e.Type, e.Data = hraft.LogConfiguration, p.lists[at].Data
		}
		r.Entries = append(r.Entries, e)
		data = append(data, p.data[i-1])
	}
	if bare(to) == third {
		data = nil
	}
	m.send(post{from: p.name, to: to, kind: "append", body: r, data: data})
}

// stand makes a member a candidate.
func (m *model) stand(p *participant) {
	if !slices.Contains(p.voters(), p.name) {
		return
	}
	p.leads, p.stands = false, true
	p.state.Term++
	p.state.VotedIn, p.state.VotedFor = p.state.Term, p.name
	p.votes = map[string]bool{p.name: true}
	for _, to := range p.voters() {
		if to != p.name {
			m.send(post{from: p.name, to: to, kind: "vote", body: Ballot{Candidate: p.name, Term: p.state.Term, Last: p.state.Last, LastTerm: p.state.LastTerm()}})
		}
	}
}

// deliver hands a message to its receiver. With dies it crashes before it answers.
func (m *model) deliver(msg post, dies bool) {
	p := m.all[bare(msg.to)]
	if p.down || p.cut || p.name != msg.to { // connections name the incarnation that they are for
		return
	}
	p.pace.Heard(msg.from, m.now)
	var answer *post
	switch body := msg.body.(type) {
	case *hraft.AppendEntriesRequest:
		answer = m.onAppend(p, msg, body)
	case *hraft.InstallSnapshotRequest:
		next, _, err := p.state.Install(body)
		m.must(err)
		p.state = next
	case Ballot:
		answer = m.onVote(p, msg, body)
	case *hraft.AppendEntriesResponse:
		m.onAppended(p, msg, body)
	case bool:
		m.onVoted(p, msg, body)
	}
	if dies {
		p.down = true
		m.seen["crashes between writing and answering"]++
		return
	}
	if answer != nil {
		m.send(*answer)
	}
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) onAppend(p *participant, msg post, r *hraft.AppendEntriesRequest) *post {
	was := p.state
	next, answer, err := p.state.Append(r)
	m.must(err)
	if answer.Success && !p.witness {
		for i, e := range r.Entries { // what was there already is the same
			if int(e.Index) <= len(p.data) && uint64(len(p.data)) > next.Last || int(e.Index) <= len(p.data) && p.changes(was, e) {
				p.data = p.data[:e.Index-1]
				p.lists = slices.DeleteFunc(slices.Clone(p.lists), func(l List) bool { return l.Index >= e.Index })
			}
			if int(e.Index) > len(p.data) {
				p.data = append(slices.Clip(p.data), msg.data[i])
				if e.Type == hraft.LogConfiguration {
					p.lists = append(slices.Clip(p.lists), List{e.Index, e.Data})
				}
			}
		}
	}
	p.state = next
	if r.Term >= was.Term {
		if p.leads && r.Term == was.Term {
			m.t.Fatalf("%s and %s lead in term %d", p.name, msg.from, r.Term)
		}
		p.leads, p.stands = false, false
	}
	if p.witness {
		m.must(p.state.check())
		p.lists = p.state.Lists
	} else if uint64(len(p.data)) != p.state.Last {
		m.t.Fatalf("the model: %s has %d entries, and data of %d", p.name, p.state.Last, len(p.data))
	}
	m.commits(p)
	return &post{from: p.name, to: msg.from, kind: "appended", body: answer, req: r}
}

// changes reports whether an entry replaces another one.
func (p *participant) changes(was State, e *hraft.Log) bool {
	term, known := was.termOf(e.Index)
	return known && term != e.Term
}

func (m *model) onVote(p *participant, msg post, b Ballot) *post {
	s := p.state
	if !p.witness {
		s.Lists = p.lists
	}
	next, granted := s.Vote(b, p.name)
	if !p.witness {
		next.Lists = p.state.Lists
	}
	if next.Term > p.state.Term {
		p.leads, p.stands = false, false
	}
	p.state = next
	if p.witness && !granted {
		m.seen["votes that the witness refused"]++
	}
	return &post{from: p.name, to: msg.from, kind: "voted", body: granted, req: &hraft.AppendEntriesRequest{Term: b.Term}}
}

func (m *model) onVoted(p *participant, msg post, granted bool) {
	if !p.stands || !granted || msg.req.Term != p.state.Term {
		return
	}
	p.votes[msg.from] = true
	if !p.majority(func(v string) bool { return p.votes[v] }) {
		return
	}
	if other := m.leaders[p.state.Term]; other != "" && other != p.name {
		m.t.Fatalf("%s and %s lead in term %d", other, p.name, p.state.Term)
	}
	for i, e := range m.committed {
		if i > p.state.Last || p.entry(i) != e {
			m.t.Fatalf("%s leads in term %d with %d entries, and lacks the committed entry %d (%s)", p.name, p.state.Term, p.state.Last, i, e)
		}
	}
	m.leaders[p.state.Term] = p.name
	m.seen["leaders"]++
	p.leads, p.stands, p.released = true, false, 0
	p.match, p.next = map[string]uint64{}, map[string]uint64{}
	p.pace.Begin(p.state.Term, m.now)
	p.append("no-op", nil)
}

// append appends to a leader's log.
func (p *participant) append(value string, list []byte) {
	if len(p.state.Runs) == 0 || p.state.LastTerm() != p.state.Term {
		p.state.Runs = append(slices.Clip(p.state.Runs), Run{p.state.Last + 1, p.state.Term})
	}
	p.state.Last++
	p.data = append(slices.Clip(p.data), value)
	if list != nil {
		p.lists = append(slices.Clip(p.lists), List{p.state.Last, list})
	}
}

func (p *participant) majority(has func(string) bool) bool {
	n := 0
	voters := p.voters()
	for _, v := range voters {
		if has(v) {
			n++
		}
	}
	return n > len(voters)/2
}

func (m *model) onAppended(p *participant, msg post, a *hraft.AppendEntriesResponse) {
	if a.Term > p.state.Term {
		p.state.Term, p.leads, p.stands = a.Term, false, false
		return
	}
	if !p.leads || msg.req.Term != p.state.Term {
		return
	}
	if !a.Success {
		p.next[msg.from] = max(1, min(cmp.Or(p.next[msg.from], p.state.Last+1)-1, a.LastLog+1))
		return
	}
	has := msg.req.PrevLogEntry + uint64(len(msg.req.Entries))
	p.match[msg.from], p.next[msg.from] = max(p.match[msg.from], has), max(p.next[msg.from], has+1)
	if bare(msg.from) != third {
		p.pace.Acked(p.state.Term, msg.from, has)
	}
	for i := p.state.Last; i > p.state.Commit; i-- {
		term, _ := p.state.termOf(i)
		if term == p.state.Term && p.majority(func(v string) bool { return v == p.name || p.match[v] >= i }) {
			m.acknowledge(p, i)
			p.state.Commit = i
			break
		}
	}
	m.commits(p)
}

// acknowledge checks that another full member has written what a leader commits, or that the leader knew that it hasn't.
func (m *model) acknowledge(p *participant, to uint64) {
	full := uint64(0) // a full member has all entries up to this one; it may have been emptied and removed since
	for name, has := range p.match {
		if bare(name) != third {
			full = max(full, has)
		}
	}
	for i := p.state.Commit + 1; i <= to; i++ {
		switch {
		case i <= full:
			m.seen["entries committed on two disks"]++
		case i <= p.released, len(m.full(p)) == 0: // then the other one is being taken in again
			m.seen["entries committed on one disk"]++
		default:
			m.t.Fatalf("%s commits entry %d alone, although the other full member isn't known to be away: match %v, released %d, members %+v", p.name, i, p.match, p.released, p.conf())
		}
	}
}

// commits records what a full member knows as committed.
func (m *model) commits(p *participant) {
	if p.witness {
		return
	}
	for i := uint64(1); i <= p.state.Commit; i++ {
		if was, ok := m.committed[i]; ok && was != p.entry(i) {
			m.t.Fatalf("entry %d was committed as %s, and is %s for %s", i, was, p.entry(i), p.name)
		}
		m.committed[i] = p.entry(i)
	}
}

// reform has a leader take one step towards members with their present folders, as AdoptMembers does.
func (m *model) reform(p *participant) {
	if len(p.lists) > 1 && p.lists[len(p.lists)-1].Index > p.state.Commit {
		return // one change at a time
	}
	if term, _ := p.state.termOf(p.state.Commit); term != p.state.Term {
		return
	}
	c := p.conf()
	for _, id := range slices.Sorted(maps.Keys(m.all)) {
		other := m.all[id]
		if other.down || other.cut {
			continue
		}
		at := slices.IndexFunc(c.Servers, func(s hraft.Server) bool { return bare(string(s.ID)) == id })
		switch {
		case at >= 0 && string(c.Servers[at].ID) == other.name && c.Servers[at].Suffrage == hraft.Voter:
			continue
		case at >= 0 && string(c.Servers[at].ID) != other.name:
			c.Servers = slices.Delete(c.Servers, at, at+1)
		case at < 0 && len(other.old) > 0 && slices.ContainsFunc(other.old, func(d disk) bool { return d.state.Last > 0 && d.name == other.name }):
			continue // it has the state of a member that was removed
		case at < 0:
			c.Servers = append(c.Servers, hraft.Server{ID: hraft.ServerID(other.name), Address: "x", Suffrage: hraft.Nonvoter})
		case p.match[other.name] < p.state.Commit:
			m.replicate(p, other.name)
			return
		default:
			c.Servers[at].Suffrage = hraft.Voter
			m.seen["forgetful ones that got a vote"]++
		}
		p.append("members", hraft.EncodeConfiguration(c))
		return
	}
}

func (m *model) any() *participant {
	return m.all[rapid.SampledFrom([]string{fullA, fullB, third}).Draw(m.t, "who")]
}

func (m *model) leader() *participant {
	var best *participant
	for _, p := range m.all {
		if p.leads && !p.down && (best == nil || p.state.Term > best.state.Term) {
			best = p
		}
	}
	return best
}

// led makes an action of one that a leader does.
func (m *model) led(f func(*participant)) func() {
	return func() {
		if p := m.leader(); p != nil {
			f(p)
		}
	}
}

// flow delivers messages in order for a while.
func (m *model) flow(n int) {
	for range n {
		if len(m.net) == 0 {
			return
		}
		msg := m.net[0]
		m.net = m.net[1:]
		m.deliver(msg, false)
	}
}

// actions are what may happen, with how often it does.
func (m *model) actions() []action {
	return []action{
		{"stand", 6, func() {
			p := m.any()
			if p.witness || p.down || p.leads {
				return
			}
			m.stand(p)
			m.flow(rapid.IntRange(0, 8).Draw(m.t, "messages"))
		}},
		{"work", 8, m.led(func(p *participant) {
			for range rapid.IntRange(1, 3).Draw(m.t, "values") {
				m.values++
				p.append(fmt.Sprint("v", m.values), nil)
			}
		})},
		{"replicate", 24, m.led(func(p *participant) {
			for _, s := range p.conf().Servers {
				if string(s.ID) != p.name {
					m.replicate(p, string(s.ID))
				}
			}
			m.flow(rapid.IntRange(0, 12).Draw(m.t, "messages"))
		})},
		{"reform", 8, m.led(m.reform)},
		{"install", 1, m.led(func(p *participant) {
			term, _ := p.state.termOf(p.state.Commit)
			list := p.lists[0]
			for _, l := range p.lists {
				if l.Index <= p.state.Commit {
					list = l
				}
			}
			if p.state.Commit > 0 && list.Index <= p.state.Commit {
				m.send(post{from: p.name, to: m.all[third].name, kind: "install", body: &hraft.InstallSnapshotRequest{
					Term: p.state.Term, LastLogIndex: p.state.Commit, LastLogTerm: term, Configuration: list.Data, ConfigurationIndex: list.Index,
				}})
			}
		})},
		{"flow", 4, func() { m.flow(20) }},
		{"calm", 2, func() {
			m.revive()
			if m.leader() == nil {
				m.stand(m.all[rapid.SampledFrom([]string{fullA, fullB}).Draw(m.t, "candidate")])
			}
			for range 10 {
				m.flow(100)
				if p := m.leader(); p != nil {
					m.reform(p)
					for _, s := range p.conf().Servers {
						if string(s.ID) != p.name {
							m.replicate(p, string(s.ID))
						}
					}
				}
			}
		}},
		{"lose", 1, func() { m.net = nil }},
		{"disturb", 6, func() {
			if len(m.net) == 0 {
				return
			}
			i := rapid.IntRange(0, len(m.net)-1).Draw(m.t, "message")
			msg := m.net[i]
			switch rapid.IntRange(0, 3).Draw(m.t, "how") {
			case 0:
				m.net = slices.Delete(m.net, i, i+1)
			case 1:
				m.net = append(m.net, msg)
			case 2:
				m.deliver(msg, true)
			default: // out of turn; it also comes again
				m.deliver(msg, false)
			}
		}},
		{"time", 6, func() {
			m.now = m.now.Add(time.Duration(rapid.IntRange(1, 400).Draw(m.t, "ms")) * time.Millisecond)
		}},
		{"crash", 2, func() { m.any().down = true }},
		{"cut", 2, func() { p := m.any(); p.cut = !p.cut }},
		{"return", 4, func() { m.revive() }},
		{"empty", 1, func() {
			p := m.any()
			m.folders++
			p.old = append(p.old, p.disk)
			p.disk = disk{name: fmt.Sprintf("%s#%d", p.id, m.folders)}
			p.start()
			m.seen["emptied disks"]++
		}},
		{"put back", 1, func() {
			p := m.any()
			if len(p.old) == 0 {
				return
			}
			i := rapid.IntRange(0, len(p.old)-1).Draw(m.t, "folder")
			p.disk, p.old[i] = p.old[i], p.disk
			p.start()
			m.seen["folders put back"]++
		}},
	}
}

type action struct {
	name string
	part int
	do   func()
}

func (m *model) revive() {
	for _, p := range m.all {
		if p.down {
			p.start()
		}
		p.cut = false
	}
}

func TestNothingCommittedIsLostWhateverHappensToTheThree(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t, seen)
		var draw []action
		for _, a := range m.actions() {
			draw = append(draw, slices.Repeat([]action{a}, a.part)...)
		}
		for range rapid.IntRange(100, 1500).Draw(t, "steps") {
			a := draw[rapid.IntRange(0, len(draw)-1).Draw(t, "action")]
			a.do()
		}
	})
	for _, what := range []string{
		"leaders", "entries committed on two disks", "entries committed on one disk", "votes that the witness refused", "crashes between writing and answering",
		"emptied disks", "folders put back", "forgetful ones that got a vote",
	} {
		if seen[what] == 0 {
			t.Errorf("the model has never had %s", what)
		}
	}
	t.Log(seen)
}
