package nodeattributes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/ledger/ledgerpb"
)

// of is a change: HOST NAME=VALUE..., with a * before the host if its nodes say so.
func of(texts ...string) *ledgerpb.NodeAttributesChanged {
	c := &ledgerpb.NodeAttributesChanged{}
	for _, text := range texts {
		words := strings.Fields(text)
		host, reported := strings.CutPrefix(words[0], "*")
		h := &ledgerpb.HostAttributes{Host: host, Reported: reported}
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			h.Attributes = append(h.Attributes, &ledgerpb.NodeAttribute{Name: name, Value: value})
		}
		c.Hosts = append(c.Hosts, h)
	}
	return c
}

func TestHostsHaveWhatAdministratorsAndTheirNodesSay(t *testing.T) {
	var s Attributes
	step := func(c *ledgerpb.NodeAttributesChanged, want map[string][]Attribute) {
		t.Helper()
		if err := s.Apply(c); err != nil {
			t.Fatal(err)
		}
		got := map[string][]Attribute{}
		for _, host := range s.Hosts() {
			got[host] = s.All(host)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		var again Attributes
		for _, h := range s.Record() {
			if err := again.Restore(h); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("restored: %s", diff)
		}
	}
	central, reported := func(name, value string) Attribute { return Attribute{Central, name, value} }, func(name, value string) Attribute { return Attribute{Reported, name, value} }
	step(of("n1 gpu=a100 zone=", "*n1 os=linux", "n2 zone=z2"), map[string][]Attribute{
		"n1": {reported("os", "linux"), central("gpu", "a100"), central("zone", "")}, "n2": {central("zone", "z2")},
	})
	before := s.Clone()
	step(of("n1 gpu=v100", "*n2 os=bsd", "n2"), map[string][]Attribute{"n1": {reported("os", "linux"), central("gpu", "v100")}, "n2": {reported("os", "bsd")}})
	if got := before.Of("n1", Central); len(got) != 2 || got[0].Value != "a100" {
		t.Errorf("a copy has changed: %v", got)
	}
	if s.Forget("n2"); s.All("n2") != nil || len(s.Hosts()) != 1 {
		t.Errorf("n2 is still there: %v", s.Hosts())
	}
	step(of("n1", "*n1"), map[string][]Attribute{})
	if s.Bytes != 0 || s.Any() {
		t.Errorf("nothing takes %d bytes", s.Bytes)
	}
}

func TestChangesThatCannotBeAreRefusedWhole(t *testing.T) {
	many, large := "n1", &ledgerpb.NodeAttributesChanged{}
	for i := range MaxPerHost + 1 {
		many += fmt.Sprintf(" a%03d=1", i)
	}
	long := strings.Repeat("x", maxText)
	for i := range MaxBytes / (len(long) * 2) {
		large.Hosts = append(large.Hosts, &ledgerpb.HostAttributes{Host: fmt.Sprint("h", i), Attributes: []*ledgerpb.NodeAttribute{{Name: long, Value: long}}})
	}
	var s Attributes
	for want, c := range map[string]*ledgerpb.NodeAttributesChanged{
		"host n1 changes twice":                   of("n0 a=1", "n1 a=1", "n1 b=1"),
		"a host without a name has attributes":    {Hosts: []*ledgerpb.HostAttributes{{}}},
		"aren't in the order of their names":      of("n0 a=1", "n1 b=1 a=1"),
		"host n1 can have 256 of one prefix":      of(many),
		"now it is= -a":                           of("n1 -a=1"),
		"now it is= ü":                            of("n1 a=ü"),
		"empty or exceeds 255 character(s)":       of("n1 " + long + "x=1"),
		"Attribute value added exceeds 255":       of("n1 a=" + long + "x"),
		"those of all hosts may have 67108864 by": large,
	} {
		if err := s.Apply(c); err == nil || !strings.Contains(err.Error(), want) || s.Any() {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if err := s.Try(large); !errors.Is(err, ErrBound) {
		t.Error(err)
	}
	large.Hosts = large.Hosts[:len(large.GetHosts())/2]
	if err := s.Apply(large); err != nil || s.Bytes > MaxBytes {
		t.Errorf("%v: %d bytes", err, s.Bytes)
	}
}
