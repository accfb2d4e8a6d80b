package raft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	// helloPrefix begins the line with which a connection opens; a greeting in JSON follows.
	helloPrefix = "heddle-raft 2 "
	// oldPrefix is that of earlier versions: the cluster's name, a blank and the dialling member's id follow. Nobody answers it.
	oldPrefix = "heddle-raft 1 "
	// maxHello bounds the line, in bytes.
	maxHello = 1024
	// maxWelcome bounds the answer, in bytes. It has all members of the group in it.
	maxWelcome = 64 << 10
	// helloTimeout is the time in which a peer must have proved who it is.
	helloTimeout = 5 * time.Second
)

// greeting is what the member that dials says first.
type greeting struct {
	Cluster string `json:"cluster"`
	Group   string `json:"group,omitempty"` // of which it is a member; "" for none so far
	From    string `json:"from"`
	To      string `json:"to,omitempty"`  // whom it takes the other for; "" if it doesn't know
	Ask     bool   `json:"ask,omitempty"` // it wants to know the other's Status, and nothing else

	old bool // it comes from an earlier version
}

// welcome is the answer to a greeting.
type welcome struct {
	From    string  `json:"from"`
	Refused string  `json:"refused,omitempty"` // why the connection is closed
	Status  *Status `json:"status,omitempty"`
}

// Status is what a member says of itself.
type Status struct {
	Group  string   `json:"group,omitempty"`  // the group's id; "" while the member belongs to none
	Empty  bool     `json:"empty"`            // it has neither log nor snapshot
	Last   uint64   `json:"last"`             // index of the last entry in its log
	Leader string   `json:"leader,omitempty"` // id of the member that it follows, or its own
	IDs    []string `json:"ids"`              // of the members that its configuration names
}

// errStranger is the cause of refusing what is no greeting.
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

// Caller returns the id of the member that opens a connection to another one with a line. What carries connections between members can
// tell by it whose they are.
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
		return nil, fmt.Errorf("the greeting has %d bytes, and may have %d: shorten yarn.resourcemanager.cluster-id", len(line), maxHello)
	}
	return append(line, '\n'), nil
}

// check compares a greeting with who we are. It does not prove that the greeting is true.
func (g greeting) check(me greeting) error {
	switch {
	case g.Cluster != me.Cluster:
		return fmt.Errorf("it belongs to cluster %q, we to %q: check heddle.raft.address.* and yarn.resourcemanager.cluster-id", g.Cluster, me.Cluster)
	case g.To != "" && g.To != me.From:
		return fmt.Errorf("it looks for member %q, this is %q: check heddle.raft.address.%s in its configuration", g.To, me.From, g.To)
	case g.From == me.From:
		return fmt.Errorf("it says that it is %q, which is this member: check yarn.resourcemanager.ha.id", g.From)
	case g.Group != "" && me.Group != "" && g.Group != me.Group:
		return &foreignGroup{g.From, g.Group, me.Group, me.Cluster}
	}
	return nil
}

// foreignGroup says that two members of one cluster's name have logs that don't belong together.
type foreignGroup struct{ member, theirs, ours, cluster string }

func (f *foreignGroup) Error() string {
	return fmt.Sprintf("%s holds the state of group %s, we of group %s: two groups were formed under the name %q, and their logs don't belong together; "+
		"find out which one's applications count, and start the members of the other with empty state folders", f.member, f.theirs, f.ours, f.cluster)
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

// readLine reads up to the next line feed, and no byte more: what follows is raft's.
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
