package leader

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"heddle/rm/leader/nodeattributes"
	store "heddle/rm/ledger/nodeattributes"
	"heddle/yarn/pb"
)

func central(name, value string) store.Attribute {
	return store.Attribute{Prefix: store.Central, Name: name, Value: value}
}

func own(name, value string) *[]store.Attribute {
	return &[]store.Attribute{{Prefix: store.Reported, Name: name, Value: value}}
}

func mapped(host string, all ...store.Attribute) []nodeattributes.Mapping {
	return []nodeattributes.Mapping{{Host: host, Attributes: all}}
}

func (w *world) attributesOf(host string) (all []string) {
	w.t.Helper()
	if err := w.Do(func() error {
		for _, a := range w.work.Attributes.All(host) {
			all = append(all, a.Prefix+"/"+a.Name+"="+a.Value)
		}
		return nil
	}); err != nil {
		w.t.Error(err)
	}
	return all
}

// Attributes of administrators and of nodes stand side by side, and survive a change of leaders.
func TestAttributesSurviveAChangeOfLeaders(t *testing.T) {
	const add, replace = pb.AttributeMappingOperationType_ADD, pb.AttributeMappingOperationType_REPLACE
	runWorld(t, func(s *Settings) {}, func(w *world) {
		host := nodeID(1).Host
		if err := w.Attributes().Map(add, mapped(host, central("gpu", "a100")), false); err == nil || !strings.Contains(err.Error(), "upgrade all ResourceManagers") {
			t.Errorf("with an old ledger: %v", err)
		}
		w.newest()
		w.node(1)
		for _, err := range []error{
			w.Attributes().Map(add, mapped(host, central("gpu", "a100"), central("zone", "")), true),
			w.Attributes().Map(add, mapped(host, central("gpu", "v100")), true), // as in Hadoop, it has one already
		} {
			if err != nil {
				t.Error(err)
			}
		}
		if err := w.Do(func() error {
			for _, c := range []struct {
				said *[]store.Attribute
				want nodeattributes.Answer
			}{
				{nil, nodeattributes.Answer{}},
				{own("os", "linux"), nodeattributes.Answer{Accepted: true}},
				{&[]store.Attribute{central("os", "x")}, nodeattributes.Answer{Why: fmt.Sprintf("Reject invalid node attributes from host: %v, attributes in HB must have prefix nm.yarn.io", nodeID(1))}},
				{&[]store.Attribute{}, nodeattributes.Answer{Accepted: true}},
			} {
				if got := w.attrs.Heard(nodeID(1), c.said); got != c.want {
					t.Errorf("%v: %+v", c.said, got)
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		want := []string{"nm.yarn.io/os=linux", "rm.yarn.io/gpu=a100", "rm.yarn.io/zone="}
		if got := w.attributesOf(host); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		w.depose()
		w.lead()
		if got := w.attributesOf(host); !slices.Equal(got, want) {
			t.Errorf("the next leader: %q", got)
		}
		many := make([]nodeattributes.Mapping, 0, 1<<16)
		for i := range cap(many) {
			many = append(many, mapped(fmt.Sprint("h", i), central(strings.Repeat("x", 255), strings.Repeat("y", 255)))...)
		}
		for want, call := range map[string][]nodeattributes.Mapping{
			"make several calls":              many,
			"can't be the name of a host":     mapped("a\xffb", central("a", "1")),
			"can have 256 of one prefix":      mapped(host, tooMany()...),
			"Prefix should be rm.yarn.io":     mapped(host, store.Attribute{Prefix: "nm.yarn.io", Name: "a"}),
			"Following nodes does not exist ": mapped("nowhere", central("a", "1")),
		} {
			if err := w.Attributes().Map(replace, call, strings.HasPrefix(want, "Following")); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		}
		if got := w.attributesOf(host); !slices.Equal(got, want) {
			t.Errorf("after refusals: %q", got)
		}
	})
}

func tooMany() (all []store.Attribute) {
	for i := range store.MaxPerHost + 1 {
		all = append(all, central(fmt.Sprint("a", i), ""))
	}
	return all
}
