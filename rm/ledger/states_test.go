package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/issued"
	"heddle/rm/ledger/kept"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/nodeattributes"
	"heddle/rm/ledger/queues"
	"heddle/rm/ledger/usage"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// noState are the fields that are no part of a state: a snapshot or a clone need not bring them back.
var noState = map[string]string{
	"Container.Handle":                   "it belongs to who works on a copy",
	"State.Granted":                      "it counts what this member has seen",
	"Of[heddle/rm/ledger.Container].own": "it counts what no other owner has",
	"Created.Zero":                       "a leader finds it out again, from the applications",

	"State.Kept":               "it follows from the rest, as Check verifies",
	"Application.contextBytes": "likewise",
	"Application.reportBytes":  "likewise",
	"Application.counted":      "likewise",
}

// comparison collects in what two states differ.
type comparison struct {
	path  []string
	diffs []string
}

// differences compares two states field by field, those that aren't exported included.
func differences(a, b *State) []string {
	var c comparison
	c.compare(reflect.ValueOf(a), reflect.ValueOf(b))
	return c.diffs
}

func (c *comparison) in(name string, f func()) {
	c.path = append(c.path, name)
	f()
	c.path = c.path[:len(c.path)-1]
}

func (c *comparison) differ(a, b any) {
	c.diffs = append(c.diffs, fmt.Sprintf("%s: %v, and %v", strings.Join(c.path, "."), a, b))
}

var (
	messageType    = reflect.TypeFor[proto.Message]()
	usageType      = reflect.TypeFor[*usage.History]()
	containersType = reflect.TypeFor[Containers]()
	onNodeType     = reflect.TypeFor[[]records.ContainerID]()
)

func (c *comparison) compare(a, b reflect.Value) {
	switch {
	case a.Type().Implements(messageType):
		if !proto.Equal(a.Interface().(proto.Message), b.Interface().(proto.Message)) {
			c.differ(a, b)
		}
		return
	case a.Type() == usageType:
		return // clones have none
	case a.Type() == containersType:
		c.containers(a.Addr().Interface().(*Containers), b.Addr().Interface().(*Containers))
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				c.differ(a, b)
			}
			return
		}
		c.compare(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			c.field(a.Type(), i, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			c.differ(a, b)
			return
		}
		for i := range a.Len() {
			c.in(strconv.Itoa(i), func() { c.compare(a.Index(i), b.Index(i)) })
		}
	case reflect.Map:
		if a.Len() != b.Len() {
			c.differ(a, b)
		}
		for _, k := range a.MapKeys() {
			x, y := a.MapIndex(k), b.MapIndex(k)
			if !y.IsValid() {
				c.differ(k, "nothing")
				continue
			}
			c.in(fmt.Sprint(k), func() { c.compare(addressable(x), addressable(y)) })
		}
	default:
		if !a.Equal(b) {
			c.differ(a, b)
		}
	}
}

// addressable is a copy of a value of a map that its methods with pointers can be called on.
func addressable(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type()).Elem()
	p.Set(v)
	return p
}

func (c *comparison) field(of reflect.Type, i int, a, b reflect.Value) {
	name := of.Name() + "." + of.Field(i).Name
	switch {
	case noState[name] != "":
	case name == "Container.node": // a reference, as the node refers to the container
		c.in(name, func() {
			if a.IsNil() != b.IsNil() {
				c.differ(a, b)
			} else if !a.IsNil() {
				c.compare(a.Elem().FieldByName("ID"), b.Elem().FieldByName("ID"))
			}
		})
	case name == "Node.Containers":
		c.in(name, func() {
			if x, y := ids(a), ids(b); !slices.Equal(x, y) {
				c.differ(x, y)
			}
		})
	default:
		c.in(name, func() { c.compare(a, b) })
	}
}

// ids are those of a node's containers, in order.
func ids(v reflect.Value) []records.ContainerID {
	var all []records.ContainerID
	all = append(all, v.Interface().([]records.ContainerID)...)
	slices.SortFunc(all, func(a, b records.ContainerID) int {
		return cmp.Or(a.Attempt.App.Compare(b.Attempt.App), cmp.Compare(a.Attempt.Attempt, b.Attempt.Attempt), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (c *comparison) containers(a, b *Containers) {
	x, y := slices.Collect(a.All()), slices.Collect(b.All())
	c.compare(reflect.ValueOf(x), reflect.ValueOf(y))
}

// filler gives every exported field a value that is not zero, and hardly two the same.
type filler struct{ n int64 }

func (f *filler) next() int64 { f.n++; return f.n }

// limited are types not all values of which are good.
var limited = map[reflect.Type]any{
	reflect.TypeFor[AppState]():                         AppRunning,
	reflect.TypeFor[AttemptState]():                     AttemptRunning,
	reflect.TypeFor[ContainerState]():                   ContainerRunning,
	reflect.TypeFor[ledgerpb.KeyKind]():                 ledgerpb.KeyKind_NM,
	reflect.TypeFor[ledgerpb.Level]():                   ledgerpb.Level_SHRUNK,
	reflect.TypeFor[Containers]():                       Containers{},
	reflect.TypeFor[*pb.ApplicationSubmissionContext](): submit(1).ApplicationSubmitted.Context,
}

func (f *filler) fill(v reflect.Value) {
	if good, ok := limited[v.Type()]; ok {
		v.Set(reflect.ValueOf(good))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.next())
	case reflect.Uint8:
		v.SetUint(uint64(f.next()%255 + 1))
	case reflect.String:
		v.SetString("s" + strconv.FormatInt(f.next(), 10))
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.IsExported() && t.Type != onNodeType {
				f.fill(v.Field(i))
			}
		}
	default:
		panic("a field of a kind that no state has had so far: " + v.Type().String())
	}
}

// full is a state with something in each field.
func full(t testing.TB) *State {
	t.Helper()
	f := filler{n: 100}
	s := &State{}
	f.fill(reflect.ValueOf(s).Elem())
	s.Version, s.Void = Version, 3
	s.Usage = usage.New()
	s.Usage.Apply(1_000_000, &ledgerpb.UsageSampled{Rows: []*ledgerpb.UsageRow{{Figures: []uint64{1, 2}}}})

	app := only(s.Apps)
	node := only(s.Nodes)
	s.Apps = map[records.ApplicationID]*Application{app.ID: app}
	s.Nodes = map[records.NodeID]*Node{node.ID: node}
	s.Delegations = map[int32]Delegation{s.LastDelegation - 1: only(s.Delegations)}
	s.Issued = issued.IDs{Unowned: 7}
	s.Issued.Add(s.LastApplication-2, "s1")
	s.Issued.Add(s.LastApplication-1, "s2")
	s.Created = queues.Created{}
	if err := s.Created.Restore(&ledgerpb.CreatedQueues{Queues: []*ledgerpb.CreatedQueue{
		{Path: "root.a", Parent: true, User: "ann"}, {Path: "root.a.b", User: "bob"}, {Path: "root.c.d", Legacy: true, User: "ann"},
	}}); err != nil {
		t.Fatal(err)
	}
	s.Attributes = nodeattributes.Attributes{}
	for _, reported := range []bool{false, true} {
		if err := s.Attributes.Restore(&ledgerpb.HostAttributes{
			Host: "h", Reported: reported, Attributes: []*ledgerpb.NodeAttribute{{Name: "a", Value: "v"}, {Name: "b"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.Ended = map[AppState]int64{AppFinished: 1, AppFailed: 2, AppKilled: 3}
	s.Submitted = 7

	node.httpAddress = net.JoinHostPort(node.ID.Host, strconv.Itoa(int(node.HTTPPort)))
	node.Used, node.Suspended, node.Lowered = records.Resource{}, 0, 0
	app.Used, app.Live = records.Resource{}, 0
	app.Attempts[0].State = AttemptFailed
	for i, a := range app.Attempts {
		a.ID = records.AttemptID{App: app.ID, Attempt: int32(i + 1)}
		a.AMContainer.Attempt = a.ID
		a.LastSequence = 1 << 20
	}
	live, reported, ended := &Container{}, &Container{}, &Container{}
	app.Past = PastOf(slices.Repeat([]*Container{ended}, maxPast/2+1)...)
	for _, c := range []*Container{live, reported, ended} {
		f.fill(reflect.ValueOf(c).Elem())
		c.ID.Attempt, c.Node, c.State = app.Current().ID, node.ID, ContainerCompleted
	}
	live.State, live.Level = ContainerRunning, ledgerpb.Level_FROZEN
	past := &Suspension{}
	f.fill(reflect.ValueOf(past).Elem())
	live.setExtras(extras{held: &records.Resource{1}, confirmed: &records.Resource{2}, suspension: past, tags: []string{"tag"}})
	app.Containers.Put(reported)
	hold(app, node, app.Containers.Put(live))
	recount(s)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return s
}

// recount counts what requests have left in a state that was put together by hand.
func recount(s *State) {
	s.Kept = kept.New()
	for _, app := range s.Apps {
		app.setContext(app.Context)
		app.reportBytes, app.counted = 0, kept.Application{}
		for c := range app.Containers.All() {
			app.reportBytes += int64(len(c.Diagnostic))
		}
		app.weigh(s)
	}
	for _, n := range s.Nodes {
		s.Kept.AddNode(n.weight())
	}
	for _, d := range s.Delegations {
		s.Kept.Token(d.Identifier, 1)
	}
}

func only[K comparable, V any](m map[K]V) V {
	for v := range maps.Values(m) {
		return v
	}
	panic("it is empty")
}

// zeros collects the fields, by the name of their type, that have a value somewhere in a state, and those that are met.
type zeros struct{ met, set map[string]bool }

func (z *zeros) look(v reflect.Value) {
	switch {
	case v.Type().Implements(messageType), v.Type() == usageType: // it has a test of its own
	case v.Type() == containersType:
		for c := range v.Addr().Interface().(*Containers).All() {
			z.look(reflect.ValueOf(c))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		z.look(v.Elem())
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array:
		for i := range v.Len() {
			z.look(v.Index(i))
		}
	case v.Kind() == reflect.Map:
		for _, k := range v.MapKeys() {
			z.look(addressable(v.MapIndex(k)))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			z.met[name] = true
			if !v.Field(i).IsZero() {
				z.set[name] = true
			}
			if v.Type().Field(i).IsExported() && name != "Node.Containers" && noState[name] == "" {
				z.look(v.Field(i))
			}
		}
	}
}

// A snapshot and a clone bring back every field that there is. The fields are found by reflection, so that one that is added, and
// forgotten there, fails this test.
func TestEveryFieldSurvives(t *testing.T) {
	s := full(t)
	z := zeros{map[string]bool{}, map[string]bool{}}
	z.look(reflect.ValueOf(s))
	for name := range z.met {
		if !z.set[name] && noState[name] == "" {
			t.Errorf("%s has no value anywhere, so nothing shows that it survives", name)
		}
	}
	image := snapshot(t, s)
	restored, err := ReadSnapshot(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences(s, restored) {
		t.Errorf("after a snapshot: %s", d)
	}
	if !bytes.Equal(snapshot(t, restored), image) {
		t.Error("its snapshot is another")
	}
	for _, d := range differences(s, s.Clone()) {
		t.Errorf("of a clone: %s", d)
	}
	if err := errors.Join(restored.Check(), restored.Clone().Check()); err != nil {
		t.Error(err)
	}
}
