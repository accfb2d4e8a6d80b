package raft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"heddle/rm/raft/promise"
)

const (
	// helloPrefix begins the line with which a connection opens; a greeting in JSON follows.
	helloPrefix = "heddle-raft 2 "
	// oldPrefix begins greetings of earlier versions: the cluster's name, a blank and the dialling member's id follow. They expect no answer.
	oldPrefix = "heddle-raft 1 "
	// maxHello limits the line, in bytes.
	maxHello = 1024
	// maxWelcome limits the answer, in bytes. The answer names all members of the group.
	maxWelcome = 64 << 10
	// helloTimeout is how long a peer may take to prove who it is.
	helloTimeout = 5 * time.Second
	// ownVersion is the version of our greetings.
	ownVersion = 1
)

// greeting is the first message of the member that dials.
type greeting struct {
	Cluster string `json:"cluster"`
	Group   string `json:"group,omitempty"` // its group; "" for none so far
	From    string `json:"from"`
	To      string `json:"to,omitempty"`  // the id it expects at this address; "" if it doesn't know
	Ask     bool   `json:"ask,omitempty"` // it only asks for the other's Status

	// Version is 0 in releases that know no incarnations.
	Version     int    `json:"version,omitempty"`
	Replaces    string `json:"replaces,omitempty"`    // the group that its group has replaced
	Incarnation string `json:"incarnation,omitempty"` // of the caller's folder
	Folder      string `json:"folder,omitempty"`      // the incarnation it expects at this address, unless it only asks

	Start promise.Start `json:"start,omitzero"` // of the caller's process
	Known promise.Known `json:"known,omitzero"` // what the caller knows of the promises of the folder that it expects

	old bool // it comes from an earlier version
}

// welcome is the answer to a greeting.
type welcome struct {
	From    string  `json:"from"`
	Refused string  `json:"refused,omitempty"` // why the connection is closed
	Status  *Status `json:"status,omitempty"`

	Incarnation string        `json:"incarnation,omitempty"` // of the folder of the member that answers
	Start       promise.Start `json:"start,omitzero"`        // of its process
	Known       promise.Known `json:"known,omitzero"`        // what it knows of the caller's promises
}

// Status is what a member reports about itself.
type Status struct {
	Group  string   `json:"group,omitempty"`  // the group's id; "" while the member belongs to none
	Empty  bool     `json:"empty"`            // it has neither log nor snapshot
	Last   uint64   `json:"last"`             // index of the last entry in its log
	Leader string   `json:"leader,omitempty"` // id of the member that it follows, or its own
	IDs    []string `json:"ids"`              // members that its configuration names
	// LastTerm is the term of the last entry in its log; 0 in releases that don't say it.
	LastTerm uint64 `json:"lastTerm,omitempty"`
	// Version is the release that it runs; "" for earlier ones, which didn't say it.
	Version string `json:"version,omitempty"`
	// Incarnation is that of its state folder, "" in a folder of an earlier version.
	Incarnation string `json:"incarnation,omitempty"`

	known promise.Known // what it knows of the one that asks
}

// errStranger is the error for a first line that isn't a greeting.
var errStranger = errors.New("not a heddle ResourceManager")

func parseGreeting(line []byte) (greeting, error) {
	if rest, ok := bytes.CutPrefix(line, []byte(oldPrefix)); ok {
		last := bytes.LastIndexByte(rest, ' ')
		if last < 0 {
			return greeting{}, fmt.Errorf("%w: greeting %q", errStranger, line)
		}
		return greeting{Cluster: string(rest[:last]), From: string(rest[last+1:]), old: true}, nil
	}
	rest, ok := bytes.CutPrefix(line, []byte(helloPrefix))
	if !ok {
		return greeting{}, fmt.Errorf("%w: greeting %q", errStranger, line)
	}
	var g greeting
	if err := json.Unmarshal(rest, &g); err != nil {
		return greeting{}, fmt.Errorf("%w: greeting %q: %w", errStranger, line, err)
	}
	return g, nil
}

// Caller returns the id of the member that opens a connection with a line. Tests that carry connections between members tell by it
// whose a connection is.
func Caller(line string) (id string, err error) {
	g, err := parseGreeting([]byte(strings.TrimSuffix(line, "\n")))
	if err == nil && g.From == "" {
		err = fmt.Errorf("%w: greeting %q", errStranger, line)
	}
	return g.From, err
}

func (g greeting) line() ([]byte, error) {
	raw, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	line := append([]byte(helloPrefix), raw...)
	if len(line) > maxHello {
		return nil, fmt.Errorf("the greeting has %d bytes, and at most %d are allowed: shorten yarn.resourcemanager.cluster-id", len(line), maxHello)
	}
	return append(line, '\n'), nil
}

// check compares a greeting with this member's own. It does not prove that the greeting is true.
func (g greeting) check(me greeting) error {
	switch {
	case g.Cluster != me.Cluster:
		return fmt.Errorf("it belongs to cluster %q, this member to %q: check heddle.raft.address.* and yarn.resourcemanager.cluster-id", g.Cluster, me.Cluster)
	case g.To != "" && g.To != me.From:
		return fmt.Errorf("it looks for member %q, this is %q: check heddle.raft.address.%s in its configuration", g.To, me.From, g.To)
	case g.From == me.From:
		return fmt.Errorf("it says that it is %q, which is this member: check yarn.resourcemanager.ha.id", g.From)
	case g.Replaces != "" && g.Replaces == me.Group:
		return ErrReplaced
	case g.Group != "" && me.Group != "" && g.Group != me.Group:
		return &foreignGroup{g.From, g.Group, me.Group, me.Cluster}
	}
	return nil
}

// foreignGroup says that two members of clusters with one name have logs of different groups.
type foreignGroup struct{ member, theirs, ours, cluster string }

func (f *foreignGroup) Error() string {
	return fmt.Sprintf("%s holds the state of group %s, we of group %s: two groups were formed under the name %q, and their logs don't belong together; "+
		"find out which group's applications you need, and start the members of the other group with empty state folders", f.member, f.theirs, f.ours, f.cluster)
}

func writeWelcome(w io.Writer, answer welcome) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

func parseWelcome(line []byte) (welcome, error) {
	var w welcome
	if err := json.Unmarshal(line, &w); err != nil {
		return w, fmt.Errorf("%w: answer %q", errStranger, shorten(line))
	}
	if w.Refused != "" {
		return w, fmt.Errorf("refused by member %q: %s", w.From, w.Refused)
	}
	return w, nil
}

func shorten(b []byte) string {
	const most = 200
	return strings.ToValidUTF8(string(b[:min(len(b), most)]), "?")
}

// readLine reads up to the next line feed, and no byte more: the rest belongs to raft.
func readLine(r io.Reader, limit int) ([]byte, error) {
	var line []byte
	var b [1]byte
	for {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return line, err
		}
		if b[0] == '\n' {
			return line, nil
		}
		if line = append(line, b[0]); len(line) > limit {
			return line, fmt.Errorf("%w: a line is too long", errStranger)
		}
	}
}
