// Package nodeattributes deals with the attributes of hosts for a leader: administrators change theirs, and nodes report their own. It puts changes on
// record. Refusals are in the words of Hadoop's AdminService, NodeAttributesManagerImpl and ResourceTrackerService.
package nodeattributes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/loop"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	store "heddle/rm/ledger/nodeattributes"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Config holds what Attributes work with.
type Config struct {
	// Tell tells the scheduler which attributes a host has, by their names with prefixes; nil: it needn't know.
	Tell func(host string, to map[string]string)
	Log  *logrus.Entry
}

// Attributes are those of a leadership. Map is an operation of its own, and safe for concurrent use. Heard is for operations of the loop.
type Attributes struct {
	Config
	loop loop.Operations
	work *ledger.State
}

// New makes the Attributes of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Attributes {
	return &Attributes{Config: cfg, loop: loop, work: work}
}

// Begin tells the scheduler which attributes hosts have.
func (s *Attributes) Begin() { s.tell(s.work.Attributes.Hosts()) }

func (s *Attributes) tell(hosts []string) {
	if s.Tell == nil {
		return
	}
	for _, host := range hosts {
		to := map[string]string{}
		for _, a := range s.work.Attributes.All(host) {
			to[a.Prefix+"/"+a.Name] = a.Value
		}
		s.Tell(host, to)
	}
}

// Mapping holds the attributes that a call names for a host.
type Mapping struct {
	Host       string
	Attributes []store.Attribute
}

func refuse(format string, args ...any) error {
	return refusal.New(refusal.Refused, "java.io.IOException: "+format, args...)
}

// Map changes the attributes that administrators have given to hosts, of all of them or of none. With knownOnly it refuses hosts on which no node has ever
// registered.
func (s *Attributes) Map(op pb.AttributeMappingOperationType, mappings []Mapping, knownOnly bool) error {
	return s.loop.Do(func() error {
		if err := s.admissible(mappings, knownOnly); err != nil {
			return err
		}
		if op == pb.AttributeMappingOperationType_REMOVE {
			if err := s.missing(mappings); err != nil {
				return err
			}
		}
		c := &ledgerpb.NodeAttributesChanged{}
		at := map[string]int{}
		for _, m := range mappings { // of two that name the same host the last counts
			m, err := normal(m)
			if err != nil {
				return refuse("%v", err)
			}
			if len(m.Attributes) == 0 {
				continue // as with Hadoop, this takes nothing away
			}
			changed := store.Message(m.Host, store.Central, combine(op, s.work.Attributes.Of(m.Host, store.Central), m.Attributes))
			if i, twice := at[m.Host]; twice {
				c.Hosts[i] = changed
				continue
			}
			at[m.Host] = len(c.Hosts)
			c.Hosts = append(c.Hosts, changed)
		}
		return s.change(c)
	})
}

// admissible refuses hosts that aren't known, and prefixes that administrators may not give.
func (s *Attributes) admissible(mappings []Mapping, knownOnly bool) error {
	known := map[string]bool{}
	if knownOnly {
		for id := range s.work.Nodes {
			known[id.Host] = true
		}
	}
	var unknown []string
	for _, m := range mappings {
		if knownOnly && !known[m.Host] {
			unknown = append(unknown, m.Host)
			continue
		}
		if slices.ContainsFunc(m.Attributes, func(a store.Attribute) bool { return a.Prefix != store.Central }) {
			return refuse("Invalid Attribute Mapping for the node %.300s. Prefix should be %s", m.Host, store.Central)
		}
	}
	if len(unknown) > 0 {
		return refuse(" Following nodes does not exist : [%s]", strings.Join(unknown, ", "))
	}
	return nil
}

// missing refuses attributes that are to be removed from hosts that don't have them.
func (s *Attributes) missing(mappings []Mapping) error {
	for _, m := range mappings {
		has := s.work.Attributes.Of(m.Host, store.Central)
		for _, a := range m.Attributes {
			if !slices.ContainsFunc(has, func(b store.Attribute) bool { return a.Key() == b.Key() }) {
				return refuse("Node attribute [Prefix-%s :Name-%.300s] doesn't exist on node %.300s", a.Prefix, a.Name, m.Host)
			}
		}
	}
	return nil
}

// normal trims and checks names and values, and puts them in order. Of two attributes with the same name the first counts.
func normal(m Mapping) (Mapping, error) {
	out := Mapping{Host: strings.TrimSpace(m.Host)}
	if !limit.IsName(out.Host) {
		return out, fmt.Errorf("%.100q can't be the name of a host", m.Host)
	}
	for _, a := range m.Attributes {
		a.Name, a.Value = strings.TrimSpace(a.Name), strings.TrimSpace(a.Value)
		if err := store.CheckName(a.Name); err != nil {
			return out, err
		}
		if err := store.CheckValue(a.Value); err != nil {
			return out, err
		}
		out.Attributes = append(out.Attributes, a)
	}
	slices.SortStableFunc(out.Attributes, store.Compare)
	out.Attributes = slices.CompactFunc(out.Attributes, func(a, b store.Attribute) bool { return a.Key() == b.Key() })
	return out, nil
}

// combine returns the attributes of a host after an operation. Both lists are in order. As with Hadoop, adding what a host has already keeps its value.
func combine(op pb.AttributeMappingOperationType, has, said []store.Attribute) []store.Attribute {
	if op == pb.AttributeMappingOperationType_REPLACE {
		return said
	}
	if op == pb.AttributeMappingOperationType_ADD {
		out := slices.Concat(has, without(said, has))
		slices.SortFunc(out, store.Compare)
		return out
	}
	return without(has, said)
}

// without returns the attributes of a list of which another one names none.
func without(all, others []store.Attribute) []store.Attribute {
	named := map[store.Attribute]bool{}
	for _, a := range others {
		named[a.Key()] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(a store.Attribute) bool { return named[a.Key()] })
}

// Answer tells a node whether its attributes count, and if not, why. The zero Answer says nothing.
type Answer struct {
	Accepted bool
	Why      string
}

// Heard takes the attributes that a node says its host has; nil says nothing. As with Hadoop, an empty list leaves the host those that it has.
func (s *Attributes) Heard(id records.NodeID, said *[]store.Attribute) Answer {
	if said == nil {
		return Answer{}
	}
	if slices.ContainsFunc(*said, func(a store.Attribute) bool { return a.Prefix != store.Reported }) {
		return Answer{Why: fmt.Sprintf("Reject invalid node attributes from host: %v, attributes in HB must have prefix %s", id, store.Reported)}
	}
	m, err := normal(Mapping{id.Host, *said})
	if err == nil && len(m.Attributes) > 0 && !slices.Equal(m.Attributes, s.work.Attributes.Of(id.Host, store.Reported)) {
		err = s.change(&ledgerpb.NodeAttributesChanged{Hosts: []*ledgerpb.HostAttributes{store.Message(id.Host, store.Reported, m.Attributes)}})
	}
	if err != nil {
		return Answer{Why: strings.TrimPrefix(err.Error(), "java.io.IOException: ")}
	}
	return Answer{Accepted: true}
}

// change puts a change on record.
func (s *Attributes) change(c *ledgerpb.NodeAttributesChanged) error {
	if len(c.GetHosts()) == 0 {
		return nil
	}
	if s.work.Version < ledger.AttributesVersion {
		return refuse("attributes of nodes need version %d of the replicated ledger, and this cluster has version %d: upgrade all ResourceManagers, and try again",
			ledger.AttributesVersion, s.work.Version)
	}
	if err := s.work.Attributes.Try(c); err != nil {
		return refuse("%v", err)
	}
	command := &ledgerpb.Command{NodeAttributesChanged: c}
	if n := proto.Size(command); n > limit.MaxCommand {
		return refuse("one call changes attributes of %d hosts, which takes %d bytes, and it can have %d: make several calls", len(c.GetHosts()), n, limit.MaxCommand)
	}
	s.loop.Enter(command)
	var hosts []string
	for _, h := range c.GetHosts() {
		hosts = append(hosts, h.GetHost())
	}
	s.tell(hosts)
	s.Log.WithField("hosts", len(hosts)).Info("attributes of nodes are changed")
	return nil
}
