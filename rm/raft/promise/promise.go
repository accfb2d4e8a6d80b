// Package promise keeps what a member of a raft group has promised to the others, apart from its log: how far it acknowledged entries, in which
// terms it voted, and what it knew to be committed. A log that is shorter than that has forgotten, and its member must not vote with it.
//
// A Book is kept twice: by the member itself (File), and about the member by each of its peers. The first shows that the log alone was lost
// or put back from a copy, the second that the whole folder was. The package does no I/O but that of File, and knows no clock. A witness,
// which is a voter without an FSM, keeps the same book.
package promise

import (
	"fmt"
	"maps"
	"sync"
)

// Start names one start of a process on a folder.
type Start struct {
	// Run counts the starts on the folder, from 1.
	Run uint64 `json:"run,omitempty"`
	// Mark is drawn at random, to tell starts on two copies of the folder apart.
	Mark string `json:"mark,omitempty"`
}

// Known is what is known of the promises of a member's folder.
type Known struct {
	Start
	// Index is the last entry that the member acknowledged, to the leader of Term.
	Index uint64 `json:"index,omitempty"`
	Term  uint64 `json:"term,omitempty"`
	// Voted is the last term in which it voted for the one that knows this.
	Voted uint64 `json:"voted,omitempty"`
}

// Held is what a folder held when a process started on it.
type Held struct {
	Start
	Last uint64 // index of the last entry of log and snapshots
	Term uint64 // current term
	// Cut is the term of the leader that last made the member remove entries. Acknowledgements to leaders of earlier terms don't count any more.
	Cut uint64
}

// Judge returns an error that says why a folder must have forgotten something, nil if nothing shows that. by names who knows it.
func (h Held) Judge(by string, k Known) error {
	switch {
	case k.Start == h.Start:
		return nil // known of this very start, which was judged by what was known before
	case k.Run >= h.Run:
		return fmt.Errorf("%s has seen a later start on this folder (number %d, this is %d): it is an older copy", by, k.Run, h.Run)
	case k.Voted > h.Term || k.Term > h.Term:
		return fmt.Errorf("%s knows that it voted or followed in term %d, and it holds term %d", by, max(k.Voted, k.Term), h.Term)
	case k.Index > h.Last && k.Term >= h.Cut:
		return fmt.Errorf("%s knows that it acknowledged entry %d, and its log ends at %d", by, k.Index, h.Last)
	}
	return nil
}

// Page is the content of a Book.
type Page struct {
	// Own is this member's own.
	Own Known `json:"own"`
	// Commit is the highest index that this member has known to be committed.
	Commit uint64 `json:"commit,omitempty"`
	Cut    uint64 `json:"cut,omitempty"` // see Held
	// Peers is what this member knows of others, by what raft calls them.
	Peers map[string]Known `json:"peers,omitempty"`
}

// Book is a Page that is being written. Its methods may be called from several goroutines, and take no longer than a lock.
type Book struct {
	mu      sync.Mutex
	page    Page
	changed bool
}

// Begin continues with a page, at a new start.
func (b *Book) Begin(p Page, s Start) {
	peers := map[string]Known{}
	maps.Copy(peers, p.Peers)
	p.Peers, p.Own.Start = peers, s
	b.update(func(page *Page) { *page = p })
}

func (b *Book) update(change func(*Page)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.page)
	b.changed = true
}

// Page returns a copy of what the book says.
func (b *Book) Page() Page {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.page
	p.Peers = maps.Clone(p.Peers)
	return p
}

// Changed returns a copy if the book was changed since the last call.
func (b *Book) Changed() (Page, bool) {
	b.mu.Lock()
	changed := b.changed
	b.changed = false
	b.mu.Unlock()
	return b.Page(), changed
}

// Stored notes that this member has stored entries up to an index, in a term.
func (b *Book) Stored(index, term uint64) {
	b.update(func(p *Page) { p.Own.Index, p.Own.Term = index, max(p.Own.Term, term) })
}

// Committed notes how far entries are committed.
func (b *Book) Committed(index uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if index > b.page.Commit {
		b.page.Commit, b.changed = index, true
	}
}

// CutBy notes that the leader of a term makes this member remove all entries after an index.
func (b *Book) CutBy(term, after uint64) {
	b.update(func(p *Page) { p.Cut, p.Own.Index = max(p.Cut, term), min(p.Own.Index, after) })
}

// Of returns what is known of a peer.
func (b *Book) Of(peer string) Known {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.page.Peers[peer]
}

// Acknowledged notes that a peer has acknowledged all entries up to an index to this member, the leader of a term.
func (b *Book) Acknowledged(peer string, index, term uint64) {
	b.update(func(p *Page) {
		if k := p.Peers[peer]; term > k.Term || term == k.Term && index > k.Index {
			k.Index, k.Term = index, term
			p.Peers[peer] = k
		}
	})
}

// VotedFor notes that a peer has voted for this member in a term.
func (b *Book) VotedFor(peer string, term uint64) {
	b.update(func(p *Page) {
		k := p.Peers[peer]
		k.Voted = max(k.Voted, term)
		p.Peers[peer] = k
	})
}

// Greeted notes that a peer has told its start. An earlier one than is known isn't noted: the peer has forgotten, and will find that out.
func (b *Book) Greeted(peer string, s Start) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.page.Peers[peer]; s.Run > k.Run {
		k.Start = s
		b.page.Peers[peer], b.changed = k, true
	}
}

// Forget removes peers that are not members any more.
func (b *Book) Forget(member func(peer string) bool) {
	b.update(func(p *Page) {
		maps.DeleteFunc(p.Peers, func(peer string, _ Known) bool { return !member(peer) })
	})
}
