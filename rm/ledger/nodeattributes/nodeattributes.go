// Package nodeattributes is the part of the ledger that records the attributes of hosts: texts with names, which administrators give to them or
// their nodes report. It is pure.
//
// All nodes of a host have its attributes (Hadoop: NodeAttributesManagerImpl). An attribute of an administrator and one of a node may have the same
// name: their prefixes differ. All are strings, the only type that Hadoop has.
package nodeattributes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/rm/ledger/ledgerpb"
)

// Prefixes of attributes, by who says that hosts have them.
const (
	Central  = "rm.yarn.io" // administrators
	Reported = "nm.yarn.io" // nodes
)

// Bounds of what administrators and nodes may leave in the ledger.
const (
	MaxPerHost = 256      // attributes with one prefix
	MaxBytes   = 64 << 20 // names, values and hosts of all, each with overhead bytes more

	overhead = 32
	maxText  = 255 // characters of a name and of a value
)

// ErrBound is wrapped by errors of changes that would leave more.
var ErrBound = errors.New("too many attributes of nodes")

// Attribute is an attribute of a host.
type Attribute struct {
	Prefix, Name, Value string
}

// Key is an attribute without its value.
func (a Attribute) Key() Attribute { return Attribute{Prefix: a.Prefix, Name: a.Name} }

// Compare orders attributes by prefix and name.
func Compare(a, b Attribute) int {
	return cmp.Or(strings.Compare(a.Prefix, b.Prefix), strings.Compare(a.Name, b.Name))
}

// Attributes are those of all hosts. The zero value has none.
type Attributes struct {
	// ByHost are those of each host that has any.
	ByHost map[string]Host
	// Bytes is the size of all, as MaxBytes counts it.
	Bytes int
}

// Host holds the attributes of a host, by name. The slices never change: a change replaces them, so that copies may share them.
type Host struct{ Central, Reported []Attribute }

func (h Host) empty() bool { return len(h.Central)+len(h.Reported) == 0 }

func bytesOf(name string, all []Attribute) (n int) {
	for _, a := range all {
		n += overhead + len(a.Name) + len(a.Value)
	}
	if n > 0 {
		n += overhead + len(name)
	}
	return n
}

// Of returns the attributes of a host with a prefix, by name. They are not to be changed.
func (s *Attributes) Of(name, prefix string) []Attribute {
	if prefix == Reported {
		return s.ByHost[name].Reported
	}
	return s.ByHost[name].Central
}

// All returns all attributes of a host, in the order of Compare.
func (s *Attributes) All(name string) []Attribute {
	h := s.ByHost[name]
	if len(h.Central) == 0 {
		return h.Reported
	}
	return append(slices.Clip(h.Reported), h.Central...)
}

// Hosts returns the names of all hosts that have any, sorted.
func (s *Attributes) Hosts() []string { return slices.Sorted(maps.Keys(s.ByHost)) }

// Any reports whether there is any.
func (s *Attributes) Any() bool { return len(s.ByHost) > 0 }

// Clone returns a copy.
func (s *Attributes) Clone() Attributes {
	return Attributes{ByHost: maps.Clone(s.ByHost), Bytes: s.Bytes}
}

// Apply makes a change. An error changes nothing.
func (s *Attributes) Apply(c *ledgerpb.NodeAttributesChanged) error {
	if err := s.Try(c); err != nil {
		return err
	}
	for _, h := range c.GetHosts() {
		s.set(h)
	}
	return nil
}

// Try says why Apply would refuse a change.
func (s *Attributes) Try(c *ledgerpb.NodeAttributesChanged) error {
	bytes, seen := s.Bytes, map[string]bool{}
	for _, h := range c.GetHosts() {
		prefix := prefixOf(h)
		if seen[prefix+h.GetHost()] {
			return fmt.Errorf("host %s changes twice", h.GetHost())
		}
		seen[prefix+h.GetHost()] = true
		if err := check(h); err != nil {
			return err
		}
		bytes += bytesOf(h.GetHost(), attributesOf(h)) - bytesOf(h.GetHost(), s.Of(h.GetHost(), prefix))
	}
	if bytes > MaxBytes && bytes > s.Bytes {
		return fmt.Errorf("%w: those of all hosts may have %d bytes together", ErrBound, MaxBytes)
	}
	return nil
}

func check(h *ledgerpb.HostAttributes) error {
	if h.GetHost() == "" {
		return errors.New("a host without a name has attributes")
	}
	if len(h.GetAttributes()) > MaxPerHost {
		return fmt.Errorf("%w: host %s can have %d of one prefix", ErrBound, h.GetHost(), MaxPerHost)
	}
	last := ""
	for _, a := range h.GetAttributes() {
		if err := cmp.Or(CheckName(a.GetName()), CheckValue(a.GetValue())); err != nil {
			return err
		}
		if a.GetName() <= last {
			return fmt.Errorf("attributes of host %s aren't in the order of their names", h.GetHost())
		}
		last = a.GetName()
	}
	return nil
}

func prefixOf(h *ledgerpb.HostAttributes) string {
	if h.GetReported() {
		return Reported
	}
	return Central
}

func attributesOf(h *ledgerpb.HostAttributes) (all []Attribute) {
	prefix := prefixOf(h)
	for _, a := range h.GetAttributes() {
		all = append(all, Attribute{prefix, a.GetName(), a.GetValue()})
	}
	return all
}

func (s *Attributes) set(h *ledgerpb.HostAttributes) {
	all := attributesOf(h)
	s.replace(h.GetHost(), prefixOf(h), all)
}

func (s *Attributes) replace(name, prefix string, all []Attribute) {
	s.Bytes += bytesOf(name, all) - bytesOf(name, s.Of(name, prefix))
	of := s.ByHost[name]
	if prefix == Reported {
		of.Reported = all
	} else {
		of.Central = all
	}
	if of.empty() {
		if delete(s.ByHost, name); len(s.ByHost) == 0 {
			s.ByHost = nil
		}
		return
	}
	if s.ByHost == nil {
		s.ByHost = map[string]Host{}
	}
	s.ByHost[name] = of
}

// Forget drops what the nodes of a host have said.
func (s *Attributes) Forget(name string) { s.replace(name, Reported, nil) }

// Message returns attributes of one prefix, in the order of their names, as a change or a snapshot has them.
func Message(name, prefix string, all []Attribute) *ledgerpb.HostAttributes {
	m := &ledgerpb.HostAttributes{Host: name, Reported: prefix == Reported}
	for _, a := range all {
		m.Attributes = append(m.Attributes, &ledgerpb.NodeAttribute{Name: a.Name, Value: a.Value})
	}
	return m
}

// Record returns all attributes as a snapshot has them, in order.
func (s *Attributes) Record() (all []*ledgerpb.HostAttributes) {
	for _, name := range s.Hosts() {
		for _, prefix := range []string{Central, Reported} {
			if of := s.Of(name, prefix); len(of) > 0 {
				all = append(all, Message(name, prefix, of))
			}
		}
	}
	return all
}

// Restore takes over what Record has made of a host.
func (s *Attributes) Restore(h *ledgerpb.HostAttributes) error {
	return s.Apply(&ledgerpb.NodeAttributesChanged{Hosts: []*ledgerpb.HostAttributes{h}})
}

// CheckName returns an error in Hadoop's words if a name can't be that of an attribute (Hadoop: NodeLabelUtil).
func CheckName(name string) error {
	if name == "" || len(name) > maxText {
		return fmt.Errorf("attribute name added is empty or exceeds %d character(s)", maxText)
	}
	if !plain(name) {
		return fmt.Errorf("attribute name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= %.300s", name)
	}
	return nil
}

// CheckValue returns an error in Hadoop's words if a text can't be the value of an attribute. An empty one can.
func CheckValue(value string) error {
	if len(value) > maxText {
		return fmt.Errorf("Attribute value added exceeds %d character(s)", maxText)
	}
	if value != "" && !plain(value) {
		return fmt.Errorf("attribute value should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= %.300s", value)
	}
	return nil
}

func plain(text string) bool {
	for i, c := range text {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return true
}
